"""Operations of the summary services."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio

import marginalia as mg
from tests.conformance import observing
from tests.conformance.recorder import failure
from tests.conformance.scripts import script_answers
from tests.conformance.seen import MISSING, Failure
from tests.conformance.world import needed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from marginalia.testing import Recorded
    from tests.conformance.case import Json, Value
    from tests.conformance.observing import Observers
    from tests.conformance.world import World


_ARRIVAL_SECONDS = 0.3


class Attempt:
    """A request for a summary: what was asked, what came of it."""

    def __init__(self, world: World, op: Json, part: str) -> None:
        self.world, self.op, self.part = world, op, part
        self.requests: list[Recorded] = []
        self.error: Exception | None = None
        self.made: mg.Summary | None = None
        self.merged: tuple[mg.Summary, ...] = ()
        self.stopped = False

    async def make(self, start: Callable[[], Awaitable[mg.Summary]]) -> None:
        """Run *start* to its end; it is cancelled after the chunk that the case says."""
        script_answers(self.world, self.op, self.requests)
        async with anyio.create_task_group() as tasks:
            if self.op.get("cancel"):
                tasks.start_soon(self._stop_after, self.op["cancel"]["after_chunk"], tasks.cancel_scope)
            try:
                self.made = await start()
            except mg.MarginaliaError as error:
                self.error = error
            tasks.cancel_scope.cancel()
        self.stopped = self.made is None and self.error is None

    async def _stop_after(self, chunks: int, scope: anyio.CancelScope) -> None:
        """Cancel a moment after the server has sent so many chunks of its first answer."""
        while not self.requests:  # noqa: ASYNC110 - another thread's list
            await anyio.sleep(0.01)
        sent = 0
        for chunk in self.op["model"][0]["chunks"]:
            await anyio.sleep(chunk.get("pause_seconds", 0))
            sent += "pause_seconds" not in chunk
            if sent == chunks:
                break
        await anyio.sleep(_ARRIVAL_SECONDS)
        scope.cancel()

    def observers(self) -> dict[str, Callable[[], Any]]:
        """What can be seen of it."""
        world = self.world
        return observing.state_observers(world) | {
            "started": lambda: bool(self.requests),
            "requests": lambda: len(self.requests),
            "request": self._request,
            "summary": lambda: observing.described_summary(world, world.part(self.part)),
            "covers": self._covers,
            "merged": lambda: [each.text for each in self.merged],
            "hash": lambda: self.made and self.made.source_hash,
            "ended": self._ended,
            "error": self._failure,
        }

    def _request(self) -> list[list[str]] | None:
        if not self.requests:
            return None
        return [[each["role"], each["content"]] for each in self.requests[-1].body["messages"]]

    def _covers(self) -> list[str | None]:
        part = self.world.parts[self.part]
        blocks = self.world.studio.summaries.blocks(self.world.book, part)
        covered = next((block.parts for block, _ in blocks if block.summary.part_id == part), ())
        return [self.world.label(each) for each in reversed(covered)]

    def _ended(self) -> str:
        if self.stopped:
            return "terminated"
        return "error" if self.error is not None else "completed"

    def _failure(self) -> Value:
        if self.error is None:
            return MISSING
        if isinstance(self.error, mg.ContextOverflow):
            figures = {"required": self.error.tokens, "available": self.error.room}
            return Failure(text=str(self.error), kind="summary_context", figures=figures)
        return failure(str(self.error), self.error)


async def create_summary(world: World, op: Json) -> Observers:
    """Summarise the story down to a part."""
    attempt = Attempt(world, op, op["part"])
    part = world.part(op["part"])
    await attempt.make(lambda: world.studio.summaries.create(world.book, part))
    return attempt.observers()


async def create_meta_summary(world: World, op: Json) -> Observers:
    """Merge the summaries from one part back to another."""
    attempt = Attempt(world, op, op["from"])
    newest, oldest = world.part(op["from"]), world.part(op["to"])
    with suppress(mg.MarginaliaError):  # what cannot be merged is told by the attempt
        attempt.merged = world.studio.summaries.merge_draft(world.book, newest, oldest).merged
    await attempt.make(lambda: world.studio.summaries.merge(world.book, newest, oldest))
    return attempt.observers()


async def remove_summary(world: World, op: Json) -> Observers:
    """Take a summary away; unwinding gives back what a meta summary replaced."""
    part = world.part_in(op["part"], world.book_named(op.get("book")))
    world.studio.summaries.remove(part, unwind=op.get("unwind", True))
    return observing.state_observers(world)


async def update_summary(world: World, op: Json) -> Observers:
    """Edit the text of a summary."""
    world.studio.summaries.edit(world.part(op["part"]), op["text"])
    return observing.state_observers(world)


async def collect_blocks(world: World, op: Json) -> Observers:
    """The blocks of a branch, newest first, and whether each is still valid."""
    book = world.book_named(op.get("book"))
    leaf = None if op.get("leaf") is None else world.parts[op["leaf"]]
    blocks = world.studio.summaries.blocks(book, leaf)
    seen = observing.state_observers(world, book.id)
    texts, valid = [block.summary.text for block, _ in blocks], [fresh for _, fresh in blocks]
    return seen | {
        "blocks": lambda: texts,
        "valid": lambda: valid,
        "covers": lambda: [[world.label(part) for part in block.parts] for block, _ in blocks],
    }


async def collect_tree(world: World, op: Json) -> Observers:
    """The overview of all summaries on a branch."""
    book = world.book_named(op.get("book"))
    nodes = needed(world.studio.summaries, "overview")(book)
    return observing.state_observers(world, book.id) | {"tree": lambda: [_described(each) for each in nodes]}


def _described(node: Value) -> dict[str, Value]:
    return {
        "text": node.summary.text,
        "order": node.number,
        "replaced": node.replaced,
        "children": [_described(each) for each in node.children],
    }


OPERATIONS = {
    each.__name__: each
    for each in (
        create_summary,
        create_meta_summary,
        remove_summary,
        update_summary,
        collect_blocks,
        collect_tree,
    )
}
