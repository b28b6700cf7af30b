"""Operations on the tree of a story, its texts, the book's settings, and searching."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import marginalia as mg
from marginalia.story import parts as story_parts
from marginalia.values import PartId
from tests.conformance import observing, vocabulary
from tests.conformance.recorder import failure
from tests.conformance.world import World, needed

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.case import Json, Value
    from tests.conformance.observing import Observers


def _seen(world: World, **more: Callable[[], Any]) -> Observers:
    return observing.state_observers(world) | more


async def edit_part(world: World, op: Json) -> Observers:
    """Change texts of a part as the editor does."""
    fields = op["set"]
    part = world.part(op["part"])
    turn = replace(part.turn, **{name: fields[name] for name in vocabulary.TURN_FIELDS if name in fields})
    error: Exception | None = None
    try:
        world.studio.story.edit(
            part, fields.get("text", part.text), turn=turn, reasoning=fields.get("reasoning")
        )
    except mg.MarginaliaError as caught:
        error = caught
    return _seen(world, error=lambda: error and failure(str(error), error))


async def delete_part(world: World, op: Json) -> Observers:
    """Delete a part as the editor does: its children move up."""
    world.studio.story.delete(world.part(op["part"]))
    return _seen(world)


async def add_part(world: World, op: Json) -> Observers:
    """Write a part by hand."""
    parent = None if op.get("parent") is None else world.parts[op["parent"]]
    leaf = world.book.active_leaf
    made = world.studio.story.append(world.book, op.get("text", ""), parent=parent)
    world.studio.story.rewrite(vocabulary.stored_part(made, op, world.clock()))
    world.studio.story.activate(world.book, leaf)
    world.parts[op["part"]] = made.id
    return _seen(world)


async def branch_part(world: World, op: Json) -> Observers:
    """Copy a part as a sibling."""
    made = world.studio.story.fork(world.part(op["part"]))
    world.parts[op["creates"]] = made.id
    return _seen(world)


async def swipe_to(world: World, op: Json) -> Observers:
    """Go to a sibling: the end of its newest line becomes the active leaf."""
    world.studio.story.go_to(world.part(op["part"]))
    return _seen(world)


async def set_active_leaf(world: World, op: Json) -> Observers:
    """Make exactly this part the active leaf."""
    part = op.get("part")
    world.studio.story.activate(world.book, None if part is None else world.part(part))
    return _seen(world)


async def branch_of(world: World, op: Json) -> Observers:
    """The branch down to a part."""
    branch = world.studio.story.branch(world.book, world.part(op["part"]))
    return _seen(world, branch=lambda: [world.label(each.id) for each in branch])


async def siblings(world: World, op: Json) -> Observers:
    """All versions of a part."""
    found = world.studio.story.siblings(world.part(op["part"]))
    return _seen(world, siblings=lambda: [world.label(each.id) for each in found])


async def counts(world: World, op: Json) -> Observers:
    """Words and tokens of a branch and of the whole book."""
    leaf = op.get("part")
    branch = world.studio.story.branch(world.book, None if leaf is None else world.part(leaf))
    parts = world.studio.story.parts(world.book)
    return _seen(
        world,
        branch_words=lambda: sum(each.words for each in branch),
        branch_tokens=lambda: sum(each.tokens for each in branch),
        total_words=lambda: sum(each.words for each in parts),
        total_tokens=lambda: sum(each.tokens for each in parts),
    )


async def count_words(world: World, op: Json) -> Observers:
    """The words of a text."""
    numbers = [story_parts.count_words(text or "") for text in op.get("texts") or [op.get("text")]]
    found = numbers if "texts" in op else numbers[0]
    return _seen(
        world, words=lambda: found, count=lambda: found, counts=lambda: found, word_count=lambda: found
    )


async def reload(world: World, _: Json) -> Observers:
    """Close the studio and open its file again."""
    await world.reopen()
    return _seen(world)


async def save_book(world: World, op: Json) -> Observers:
    """Change settings of the book as its dialog does."""
    world.save_book(world.book.id, op["set"])
    return _seen(world)


async def remove_tag(world: World, op: Json) -> Observers:
    """Take a tag from everything that carries it."""
    studio, tag = world.studio, op.get("tag") or op.get("name")
    for book in studio.books.all():
        studio.books.save(replace(book, tags=tuple(each for each in book.tags if each != tag)))
    for lorebook in studio.lorebooks.all():
        studio.lorebooks.save(replace(lorebook, tags=tuple(each for each in lorebook.tags if each != tag)))
        for entry in studio.lorebooks.entries(lorebook):
            tags = tuple(each for each in entry.tags if each != tag)
            negative = tuple(each for each in entry.negative_tags if each != tag)
            studio.lorebooks.save_entry(replace(entry, tags=tags, negative_tags=negative))
    return _seen(world)


async def search(world: World, op: Json) -> Observers:
    """Search the story of the book, perhaps as somebody else."""
    book = world.book
    async with world.as_user(op.get("as_user")) as studio:
        try:
            hits = [_part_id(each) for each in needed(studio.story, "search")(book, op["query"])]
        except mg.NotFound:
            hits = []
    return _seen(world, hits=lambda: [world.label(each) for each in hits])


def _part_id(hit: Value) -> PartId:
    """The part of a hit, which may be a part, or name one."""
    part: Any = getattr(hit, "part", hit)
    found: PartId = getattr(part, "id", part)
    return found


async def snippet(world: World, op: Json) -> Observers:
    """The stretch of a text around the first match."""
    text = needed(mg, "snippet")(op["text"], op["query"], radius=op["radius"])
    return _seen(world, snippet=lambda: text)


async def find_leaf(world: World, op: Json) -> Observers:
    """The leaf to show for a part that was found."""
    leaf = needed(world.studio.story, "leaf_for")(world.part(op["part"]))
    return _seen(world, leaf=lambda: world.label(getattr(leaf, "id", leaf)))


async def unregister(world: World, op: Json) -> Observers:
    """Close the subscription of a listener; of all kept ones when none is named."""
    named = op.get("id") or op.get("listener") or op.get("listeners")
    names = [named] if isinstance(named, str) else named
    for each in world.kept if names is None else [world.listeners[name] for name in names]:
        each.close()
    return _seen(world)


OPERATIONS = {
    each.__name__: each
    for each in (
        edit_part,
        delete_part,
        add_part,
        branch_part,
        swipe_to,
        set_active_leaf,
        branch_of,
        siblings,
        counts,
        count_words,
        reload,
        save_book,
        remove_tag,
        search,
        snippet,
        find_leaf,
        unregister,
    )
}
