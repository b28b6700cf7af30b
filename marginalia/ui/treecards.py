"""What the tree says about one of its marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from marginalia.story.outline import first_words
from marginalia.ui.words import count

if TYPE_CHECKING:
    from marginalia.store.story import Story
    from marginalia.story.drawing import Mark
    from marginalia.ui.reading import Shape
    from marginalia.values import PartId

_LONGEST = 2_000


def card_of(
    story: Story, shape: Shape, mark: Mark, part: PartId, *, hoisted: bool, unfolded: bool
) -> dict[str, Any]:
    """The card of *part*, the first one of *mark*: what it says, what was asked for, and what stands folded in it."""
    first = story.part(part)
    text = first.text.strip()[:_LONGEST]
    many = len(mark.parts)
    if mark.kind == "run":
        last = first_words(story.part(mark.parts[-1]).text)[0]
        text = f"{first_words(text)[0]}\n… {last}"
    elif mark.kind == "stack":
        text = "\n".join(f"· {first_words(story.part(each).text, 70)[0]}" for each in mark.parts[:8])
    facts = [count(mark.tokens, "token")]
    if first.partial and mark.kind == "part":
        facts.append("cut off")
    if mark.summary:
        facts.append("has a summary")
    return {
        "title": _title(shape, mark, part),
        "text": text or "(no text)",
        "asked": (first.turn.instructions or "")[:_LONGEST] if mark.kind == "part" else "",
        "facts": " · ".join(facts),
        "label": first.label,
        "bookmarked": first.bookmarked,
        "hoisted": hoisted,
        "movable": mark.kind != "stack",
        "folded": "Fold" if unfolded else f"Unfold {many:,}" if mark.kind != "part" else "",
    }


def moving_of(shape: Shape, moved: PartId, mark: Mark) -> dict[str, Any]:
    """What the card says while a place is looked for that *moved*, with all that follows it, shall be attached to.

    ``below`` is what *mark* stands for as that place, ``refused`` why it cannot be it.
    """
    target = mark.parts[-1]
    what, below = f"#{_depth(shape, moved)}", f"#{_depth(shape, target)}"
    refused = ""
    if mark.kind == "stack":
        refused = f"These are {len(mark.parts):,} versions: unfold them to choose one."
    elif target == moved:
        refused = f"This is {what} itself. Walk or click to the part that it shall stand below."
    elif moved in shape.tree.branch(target):
        refused = f"{below} follows {what} itself: a part cannot stand below what follows it."
    elif shape.tree[moved].parent_id == target:
        refused = f"{what} stands below {below} already."
    return {"what": what, "below": below, "refused": refused, "rooted": shape.tree[moved].parent_id is None}


def _depth(shape: Shape, part: PartId) -> int:
    return shape.number(part) or len(shape.tree.branch(part))


def _title(shape: Shape, mark: Mark, part: PartId) -> str:
    depth = _depth(shape, part)
    where = "" if mark.active else ", another branch"
    if mark.kind == "run":
        return f"#{depth}\u2013#{depth + len(mark.parts) - 1}{where}"
    if mark.kind == "stack":
        return f"{len(mark.parts):,} versions of #{depth}"
    return f"#{depth}{where}"
