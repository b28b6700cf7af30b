"""The collector rests while a file is read, and never longer."""

from __future__ import annotations

import gc

import pytest

from marginalia.lore.calm import without_collections


def test_the_collector_works_again_after_the_last_one_is_done() -> None:
    assert gc.isenabled()
    with without_collections():
        with pytest.raises(ValueError, match="inside"), without_collections():
            raise ValueError("inside")
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_somebody_else_stopped_stays_stopped() -> None:
    gc.disable()
    try:
        with without_collections():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
