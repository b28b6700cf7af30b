"""What a what-if comes to, what contexts of several sizes would hold with it, and keeping it, which can be undone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from marginalia.prompt.budget import ContextTooSmall
from marginalia.prompt.leftout import NOTHING_LEFT_OUT, LeftOut, left_out
from marginalia.studio.inspecting import CONTEXTS
from marginalia.studio.wishes import Rung, WhatIf
from marginalia.ui.troubles import notice_of
from marginalia.ui.work import aside

if TYPE_CHECKING:
    from marginalia.prompt.budget import Budget
    from marginalia.prompt.segments import Prompt
    from marginalia.studio import Studio
    from marginalia.ui.desk import Desk
    from marginalia.values import Book, BookId, Protocol

NOTHING = WhatIf()


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What would be sent if ``wish`` were true; ``text`` says why nothing could be."""

    wish: WhatIf
    prompt: Prompt | None = None
    left: LeftOut = NOTHING_LEFT_OUT
    budget: Budget | None = None
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A what-if that was made true: the book and its protocol as they were, and the protocol as it is now."""

    wish: WhatIf
    book: Book
    before: Protocol | None
    after: Protocol | None


async def tried(desk: Desk, book: BookId, wish: WhatIf) -> Trial:
    """What would be sent if *wish* were true; the book is left alone."""
    try:
        prompt = await desk.studio.inspector.tried(book, desk.turn.freeze(), wish=wish)
    except ContextTooSmall as error:
        return Trial(wish=wish, budget=error.budget, text=notice_of(error).text)
    except Exception as error:  # noqa: BLE001 - whatever an extension does, the page goes on
        return Trial(wish=wish, text=notice_of(error).text)
    return Trial(wish=wish, prompt=prompt, budget=prompt.budget, left=await aside(left_out, prompt))


async def rungs(desk: Desk, book: BookId, wish: WhatIf) -> tuple[Rung, ...]:
    """What contexts of several sizes would hold if everything else of *wish* were true."""
    found: list[Rung] = []
    for context in CONTEXTS:
        trial = await tried(desk, book, replace(wish, context=context))
        if trial.prompt is not None:
            found.append(Rung.holding(context, trial.prompt))
        elif trial.budget is not None:
            found.append(Rung.too_small(context, trial.budget))
    return tuple(found)


def keep(studio: Studio, book: BookId, wish: WhatIf, new_protocol: str) -> Kept:
    """Make *wish* true; what is given back undoes it with :func:`undo`. Blocks a little."""
    was = studio.books.get(book)
    before = studio.protocols.get(was.protocol_id) if was.protocol_id is not None else None
    after = studio.inspector.apply(book, wish, new_protocol=new_protocol)
    return Kept(wish=wish, book=was, before=before, after=after)


def undo(studio: Studio, kept: Kept) -> None:
    """Have what the wish changed as it was before; what else was changed since then stays. Blocks a little."""
    now, was, wished = studio.books.get(kept.book.id), kept.book, kept.wish.settings
    settings = {name: value for name, value in now.settings.items() if name not in wished}
    settings |= {name: value for name, value in was.settings.items() if name in wished}
    studio.books.save(replace(now, settings=settings, protocol_id=was.protocol_id))
    before, after = kept.before, kept.after
    if after is None or after == before:
        return
    if before is None or before.id != after.id:
        studio.protocols.delete(after)
        return
    today = studio.protocols.get(before.id)
    studio.protocols.save(replace(today, max_tokens=before.max_tokens, reply_tokens=before.reply_tokens))
