"""Kill a studio (-9) again and again and look for what it acknowledged: ``uv run python -m benchmarks.kills [ROUNDS]``.

Of the rounds, six in ten kill a studio that writes, edits, imports and generates at the same time, two in ten one that
only streams (and look at how much of the newest text is left), two in ten the upgrade of a database of schema 1.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from tests.pipeline.killing import kill_often as kill_streaming
from tests.studio.killing import kill_often


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    streaming = migrations = rounds // 5
    writing = rounds - streaming - migrations
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        told = kill_often(Path(folder), writing, seed=11, migrations=migrations)
        kill_streaming(Path(folder) / "streamed.db", times=streaming, seed=11)
    kinds = {name: told.kinds[name] for name in ("written", "edited", "generated", "lore", "story")}
    print(
        f"{writing} kills while writing, editing, importing and generating: nothing acknowledged lost of",
        kinds,
    )
    print(
        f"{migrations} kills while upgrading ({told.kinds['migrated']} after its end): every part there, newest schema"
    )
    print(f"{streaming} kills while streaming: never more than a second of text lost")
    print(f"{rounds} rounds in {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
