"""The stable layout with a real server: what llama.cpp says it took from its cache."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

import marginalia as mg
from benchmarks.cache import share, turns
from marginalia.inference import LocalModel

ABSENT = LocalModel().why_absent()

pytestmark = [pytest.mark.model, pytest.mark.skipif(bool(ABSENT), reason=ABSENT)]


async def test_most_of_a_prompt_is_reused_from_one_turn_to_the_next(tmp_path: Path) -> None:
    async with mg.Studio(tmp_path / "m.db", seed=1, extensions=()) as studio:
        found = await turns(studio, stable=True, number=2)
    assert share(found) >= 0.9
    predicted = sum(turn.predicted for turn in found) / sum(turn.of for turn in found)
    assert abs(predicted - share(found)) < 0.05


async def test_when_old_parts_leave_what_stays_is_not_read_anew(tmp_path: Path) -> None:
    async with mg.Studio(tmp_path / "m.db", seed=1, extensions=()) as studio:
        found = await turns(studio, stable=True, number=8, context=2048)
    sizes = [turn.prompt for turn in found]
    cuts = [after for before, after in pairwise(found) if after.prompt < before.prompt]
    assert cuts, sizes
    for turn in cuts:
        assert turn.reused > 0.7 * turn.prompt
        assert abs(turn.reused - turn.predicted) < 0.15 * turn.prompt
