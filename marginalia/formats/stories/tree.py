"""A story that was read from a file: parts as a tree, and where one was in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from marginalia.formats.base import NO_FIELDS, BookFields, Note
from marginalia.formats.coerce import Json, Object
from marginalia.values import NOTHING, Turn

KEPT = "import"
"""Under what a part keeps what its file said and a part has no place for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A part to be: its key in the file, its parent's, what it says, and what else the file knows of it."""

    key: str
    parent: str | None
    text: str
    turn: Turn = Turn()
    reasoning: str = ""
    model: str = ""
    edited: bool = False
    kept: Mapping[str, Json] = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryFile:
    """A story in a file: ``leaves`` with parents before children and siblings in their order, ``active`` is a key.

    ``kept`` is what the file says beside the story, ``lore_too`` whether it holds a lorebook as well.
    """

    format: str
    title: str
    name: str
    leaves: Sequence[Leaf]
    active: str | None = None
    description: str = ""
    tags: tuple[str, ...] = ()
    fields: BookFields = NO_FIELDS
    notes: tuple[Note, ...] = ()
    kept: Mapping[str, Json] = NOTHING
    lore_too: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryCodec:
    """A format of story files; a file may hold several stories."""

    id: str
    title: str
    sees: Callable[[Json], bool]
    read: Callable[[Json, str], Sequence[StoryFile]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a chat, in a tree: the writer's own ones become the turns of the answers below them."""

    key: str
    parent: str | None
    mine: bool
    text: str
    reasoning: str = ""
    model: str = ""
    kept: Object = field(default_factory=dict[str, Json])


def in_order(leaves: Iterable[Leaf]) -> tuple[Leaf, ...]:
    """Parents before their children. What hangs on nothing, or on itself, becomes a first part."""
    found = list(leaves)
    by_key = {each.key: each for each in found}
    below: dict[str | None, list[Leaf]] = {}
    for each in found:
        parent = each.parent if each.parent in by_key else None
        below.setdefault(parent, []).append(each if parent == each.parent else replace(each, parent=None))
    ordered = list(below.get(None, ()))
    for each in ordered:
        ordered += below.get(each.key, ())
    reached = {each.key for each in ordered}
    for each in found:
        if each.key not in reached:
            ordered += _freed(each, below, reached)
    return tuple(ordered)


def _freed(first: Leaf, below: Mapping[str | None, list[Leaf]], reached: set[str]) -> list[Leaf]:
    """A circle, cut open at *first*."""
    freed = [replace(first, parent=None)]
    reached.add(first.key)
    for each in freed:
        fresh = [one for one in below.get(each.key, ()) if one.key not in reached]
        reached.update(one.key for one in fresh)
        freed += fresh
    return freed


def without_blank_roots(leaves: Sequence[Leaf]) -> tuple[Leaf, ...]:
    """The tree without first parts that say nothing and only hold the others together."""
    blank = {each.key for each in leaves if each.parent is None and not each.text.strip()}
    parents = {each.parent for each in leaves}
    empty = {key for key in blank if key in parents}
    return tuple(
        replace(each, parent=None) if each.parent in empty else each
        for each in leaves
        if each.key not in empty
    )


def from_messages(messages: Sequence[Message]) -> tuple[tuple[Leaf, ...], Mapping[str, str | None]]:
    """The answers of a chat as parts, each with what was asked before it as its turn.

    A question without an answer stays as a part without text. The mapping leads from every message to its part: a
    question's is that of the answer before it, unless it became a part.
    """
    answered = {each.parent for each in messages}
    leaves: list[Leaf] = []
    asked: dict[str | None, tuple[str, ...]] = {None: ()}
    part_of: dict[str | None, str | None] = {None: None}
    for each in messages:
        before, parent = asked.get(each.parent, ()), part_of.get(each.parent)
        said = (*before, each.text) if each.mine else before
        if each.mine and each.key in answered:
            asked[each.key], part_of[each.key] = said, parent
            continue
        turn = Turn(instructions="\n\n".join(said)) if said else Turn()
        leaves.append(
            Leaf(
                key=each.key,
                parent=parent,
                text="" if each.mine else each.text,
                turn=turn,
                reasoning=each.reasoning,
                model=each.model,
                kept=each.kept,
            )
        )
        asked[each.key], part_of[each.key] = (), each.key
    return tuple(leaves), {key: part for key, part in part_of.items() if key is not None}
