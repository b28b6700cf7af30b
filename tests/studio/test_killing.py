from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.studio.killing import kill_often


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_nothing_that_was_acknowledged_is_lost_whatever_was_going_on(tmp_path: Path) -> None:
    told = kill_often(tmp_path, 3, seed=5, migrations=4)
    assert told.kinds["written"]
    assert told.kinds["edited"]
