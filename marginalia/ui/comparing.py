"""What a prompt can be compared with: sent ones, parts, ends of branches, other settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from marginalia.studio.wishes import WhatIf
from marginalia.ui.work import aside
from marginalia.values import BookId, PartId, ProtocolId, ProviderId

if TYPE_CHECKING:
    from marginalia.prompt.segment import Sent
    from marginalia.prompt.segments import Prompt
    from marginalia.ui.desk import Desk
    from marginalia.ui.reading import Library, Shape

_RECENT = 12
_OTHERS = 8


class Choice(NamedTuple):
    """Something to compare with: its key, its name, and under which heading it stands."""

    key: str
    name: str
    group: str


def choices(desk: Desk, *, looking: bool, trying: bool, looked_at: Sequence[PartId] = ()) -> list[Choice]:
    """What there is to compare with, while a part is looked at (*looking*) or a what-if is tried out (*trying*)."""
    found = [Choice("now", "what would be sent now", "Sent")] if looking else []
    found.append(Choice("last", "the prompt sent last", "Sent"))
    if trying:
        found.append(Choice("try", "what is tried out under What if", "Other settings"))
    found += [
        Choice("stable", "the other layout", "Other settings"),
        Choice("double", "twice the context", "Other settings"),
    ]
    return [*found, *_settings(desk), *_parts(desk.shape, looked_at), *_ends(desk.shape)]


def _settings(desk: Desk) -> Iterator[Choice]:
    library: Library | None = desk.library
    if library is None or desk.book is None:
        return
    protocols = [each for each in library.protocols if each[0] != desk.book.protocol_id]
    for number, name in protocols[:_OTHERS]:
        yield Choice(f"protocol:{number}", f"the protocol {name}", "Other settings")
    providers = [each for each in library.providers if each[0] != desk.book.provider_id]
    for number, name in providers[:_OTHERS]:
        yield Choice(f"provider:{number}", f"the model {name}", "Other settings")


def _parts(shape: Shape | None, looked_at: Sequence[PartId]) -> Iterator[Choice]:
    """The newest parts of the branch, and those that were looked at before, wherever they are."""
    if shape is None:
        return
    branch = shape.branch
    recent = range(len(branch), max(0, len(branch) - _RECENT), -1)
    newest = [branch[at - 1] for at in recent]
    for part in (*newest, *(each for each in looked_at if each not in newest and each in shape.tree)):
        number = len(shape.tree.branch(part))
        where = "" if part in branch else ", another version"
        yield Choice(f"part:{part}", f"part {number}{where}", "Sent for a part")


def _ends(shape: Shape | None) -> Iterator[Choice]:
    if shape is None:
        return
    tree, here = shape.tree, set(shape.branch)
    ends = [part for part in tree.parts() if part not in here and not tree.children(part)]
    for end in ends[-_RECENT:]:
        name = f"the branch that ends in part {len(tree.branch(end))}"
        yield Choice(f"end:{end}", name, "Sent next on another branch")


async def other(desk: Desk, key: str, trial: Prompt | None) -> Sent | None:
    """The prompt that *key* stands for; ``None`` when none is known there. Raises why one cannot be built."""
    if desk.book is None:
        return None
    kind, _, number = key.partition(":")
    now: Prompt | None = desk.prompt
    match kind:
        case "now" | "try":
            return now if kind == "now" else trial
        case "last":
            return await aside(desk.studio.inspector.last_sent, desk.book.id)
        case "part":
            return await aside(desk.studio.story.receipt, PartId(int(number)))
        case _:
            return await _tried(desk, desk.book.id, kind, int(number or 0))


async def _tried(desk: Desk, book: BookId, kind: str, number: int) -> Prompt:
    """What would be sent with other settings, or at the end of another branch."""
    studio, turn = desk.studio, desk.turn.freeze()
    tried = studio.inspector.tried
    match kind:
        case "stable":
            on = await aside(studio.inspector.is_stable, book)
            return await tried(book, turn, wish=WhatIf(stable=not on))
        case "protocol":
            return await tried(book, turn, protocol=await aside(studio.protocols.get, ProtocolId(number)))
        case "provider":
            return await tried(book, turn, provider=await aside(studio.providers.get, ProviderId(number)))
        case "end":
            return await tried(book, turn, after=PartId(number))
        case _:
            context = (await aside(studio.limits, book)).context
            return await tried(book, turn, wish=WhatIf(context=2 * context))
