"""The prompt that would be sent now, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from marginalia.prompt.budget import Budget, ContextTooSmall
from marginalia.prompt.segments import Prompt
from marginalia.ui.troubles import notice_of
from marginalia.values import BookId, NewPart, Turn

if TYPE_CHECKING:
    from marginalia.studio import Studio


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A prompt and its budget; where it cannot be sent, ``why`` says so, and the budget is there if it was that."""

    prompt: Prompt | None = None
    budget: Budget | None = None
    why: str = ""


async def build_prompt(studio: Studio, book: BookId, turn: Turn) -> Built:
    """What *turn* would send next. It never raises: whatever an extension does, the page goes on."""
    try:
        prompt = await studio.preview(book, turn, request=NewPart())
    except ContextTooSmall as error:
        return Built(budget=error.budget, why=notice_of(error).text)
    except Exception as error:  # noqa: BLE001 - the border between what people typed and the page
        return Built(why=notice_of(error).text)
    return Built(prompt=prompt, budget=prompt.budget)
