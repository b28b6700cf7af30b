"""Kill a streaming writer (-9) again and again and check the rest: ``uv run python -m benchmarks.kills [TIMES]``."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from tests.pipeline.killing import kill_often


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        kill_often(Path(folder) / "killed.db", times=times, seed=11)
    seconds = time.perf_counter() - began
    print(
        f"{times} kills while streaming: nothing acknowledged lost, never more than a second of text ({seconds:.0f} s)"
    )


if __name__ == "__main__":
    main()
