"""A restore that is killed in its midst has happened or has not."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from marginalia.store.backup import Backups
from marginalia.store.backup_file import pack
from marginalia.store.backup_verify import verify_own
from tests.store.helpers import START, open_store


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_killed_restore_leaves_one_whole_story(file: Path, tmp_path: Path) -> None:
    store = open_store(file)
    book = store.books.create(name="Salt Road")
    for number in range(300):
        store.story.append(book, f"Part {number}. " + "word " * 200)
    backup = tmp_path / "b.marginalia"
    backup.write_bytes(pack(Backups(store.desk).take(book), now=START, made_by="test"))
    store.close()
    root = Path(__file__).parent.parent.parent
    for wait in (0.0, 0.03, 0.08, 0.15):
        worker = subprocess.Popen(
            [sys.executable, "-m", "tests.store.backup_worker", str(file), str(backup)],
            cwd=root,
            stdout=subprocess.PIPE,
        )
        assert worker.stdout is not None
        worker.stdout.readline()
        time.sleep(wait)
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        worker.stdout.close()
        assert verify_own(file).problems == ()
        again = open_store(file)
        texts = [part.text[:9] for part in again.story.branch(book.id)]
        again.close()
        assert len(texts) == 300
        assert texts[-1] == "Part 299."
