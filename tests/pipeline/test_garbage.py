"""What a preview or a run has made is freed with it, so that memory is flat while full collections wait."""

from __future__ import annotations

from marginalia.testing import Stream
from tests.garbage import left_behind
from tests.pipeline.conftest import TURN, World


async def test_a_preview_leaves_nothing_to_a_garbage_collection(world: World) -> None:
    await world.studio.preview(world.book, TURN)
    with left_behind() as names:
        for _ in range(3):
            await world.studio.preview(world.book, TURN)
    assert not names


async def test_a_run_leaves_nothing_to_a_garbage_collection(world: World) -> None:
    world.script(Stream("One."), Stream("Two ", "three."), Stream("Four."))
    await world.generate().settled()
    with left_behind() as names:
        for _ in range(2):
            await world.generate().settled()
    assert not names
