from __future__ import annotations

from pathlib import Path

from tests.pipeline.killing import kill_often


def test_a_killed_writer_loses_no_stored_part_and_at_most_a_second_of_text(tmp_path: Path) -> None:
    kill_often(tmp_path / "killed.db", times=4, seed=7)
