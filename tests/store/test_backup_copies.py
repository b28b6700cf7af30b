"""Copies of the whole database while it is in use."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import duckdb
import pytest

from marginalia.errors import InvalidInput, StoreDamaged, StoreFull, StoreLocked, StoreTooNew
from marginalia.store import Store
from marginalia.store.backup_copies import Copies, Copy, Keep, outdated, put_back
from marginalia.store.backup_verify import verify, verify_own
from tests.store.helpers import fill_up, open_store

NOW = datetime(2027, 3, 1, 12, 0, tzinfo=UTC)


def copies(store: Store, folder: Path) -> Copies:
    return Copies(store.desk, folder / "backups")


def test_a_copy_has_everything_and_needs_no_journal(filed: Store, tmp_path: Path) -> None:
    book = filed.books.create(name="Salt Road")
    filed.story.append(book, "Root.")
    copy = copies(filed, tmp_path).take()
    assert [path.name for path in copy.path.parent.iterdir()] == [copy.path.name]
    filed.story.append(book, "Later.")
    opened = open_store(copy.path)
    try:
        assert [part.text for part in opened.story.branch(opened.books.all()[0])] == ["Root."]
    finally:
        opened.close()


def test_a_copy_taken_while_others_write_is_of_one_moment(filed: Store, tmp_path: Path) -> None:
    book = filed.books.create(name="Salt Road")
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            filed.story.append(book, "A part.")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        taken = copies(filed, tmp_path).take()
    finally:
        stop.set()
        writer.join()
    examined = verify(taken.path)
    assert examined.problems == ()
    assert examined.rows["part"] == examined.rows["part_text"]


def test_the_database_stays_locked_while_and_after_it_is_copied(
    filed: Store, file: Path, tmp_path: Path
) -> None:
    copies(filed, tmp_path).take()
    with pytest.raises(StoreLocked):
        open_store(file)
    with pytest.raises(StoreLocked):
        verify_own(file)


def test_copies_are_listed_newest_first_and_pruned(filed: Store, tmp_path: Path) -> None:
    shelf = copies(filed, tmp_path)
    assert shelf.all() == ()
    taken = [shelf.take() for _ in range(3)]
    assert shelf.all() == tuple(reversed(taken))
    assert shelf.prune(Keep(recent=2, weeks=0)) == (taken[0],)
    assert shelf.all() == (taken[2], taken[1])


def test_recent_copies_and_one_of_each_week_are_kept() -> None:
    days = [Copy(path=Path(str(day)), taken=NOW - timedelta(days=day), size=1) for day in range(40)]
    gone = outdated(days, Keep(recent=3, weeks=4))
    kept = [int(copy.path.name) for copy in days if copy not in gone]
    assert kept == [0, 1, 2, 8, 15]  # 1 March 2027 is a Monday: the newest of its week is day 0 itself


def test_nobody_keeps_no_copy() -> None:
    with pytest.raises(InvalidInput):
        Keep(recent=0)


def test_a_database_in_memory_is_not_copied(store: Store, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="in memory"):
        copies(store, tmp_path).take()


def test_a_full_disk_is_said_before_anything_is_written(
    filed: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("marginalia.store.backup_copies._SPARE_BYTES", 10**15)
    with pytest.raises(StoreFull, match="no room"):
        copies(filed, tmp_path).take()
    assert list((tmp_path / "backups").iterdir()) == []


def test_a_disk_that_becomes_full_leaves_no_half_copy(
    filed: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = filed.books.create(name="Salt Road")
    for number in range(4):
        filed.story.append(book, Random(number).randbytes(500_000).hex())
    folder, mount = tmp_path / "disk", shutil.which("mount")
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if mount is None or subprocess.run([mount, *options], capture_output=True, check=False).returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        monkeypatch.setattr("marginalia.store.backup_copies._refuse_full", lambda *_: None)
        with pytest.raises(StoreFull, match="became full"):
            copies(filed, folder).take()
        assert list((folder / "backups").iterdir()) == []
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_folder_that_cannot_be_made_is_said(filed: Store, tmp_path: Path) -> None:
    (tmp_path / "backups").write_text("a file")
    with pytest.raises(Exception, match="cannot be used"):
        copies(filed, tmp_path).take()


@pytest.mark.parametrize("content", [b"", b"text", bytes(range(256)) * 40])
def test_what_is_no_database_is_damaged(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.db").write_bytes(content)
    with pytest.raises(StoreDamaged):
        verify(tmp_path / "x.db")


def test_a_flipped_byte_in_a_copy_is_found(filed: Store, tmp_path: Path) -> None:
    book = filed.books.create(name="Salt Road")
    for number in range(200):
        filed.story.append(book, f"Part {number}: " + str(hash(number)) * 200)
    copy = copies(filed, tmp_path).take()
    data = bytearray(copy.path.read_bytes())
    marked = data.index(b"Part 1", 20_000) if b"Part 1" in data[20_000:] else len(data) // 2
    data[marked + 3] ^= 0xFF
    copy.path.write_bytes(data)
    with pytest.raises(StoreDamaged):
        verify(copy.path)


def test_another_program_s_database_is_not_ours(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "x.db")) as connection:
        connection.execute("CREATE TABLE t (a INTEGER)")
    with pytest.raises(StoreDamaged, match="not one of Marginalia"):
        verify(tmp_path / "x.db")


def test_loose_ends_are_counted_in_sentences(filed: Store, file: Path) -> None:
    book = filed.books.create(name="Salt Road")
    filed.story.append(book, "Root.")
    filed.close()
    with duckdb.connect(str(file)) as connection:
        connection.execute("DELETE FROM part_text")
    assert verify_own(file).problems == ("There are 1 parts without their text.",)


def test_a_copy_is_put_back_and_the_database_that_was_there_is_kept(
    filed: Store, file: Path, tmp_path: Path
) -> None:
    filed.books.create(name="First")
    copy = copies(filed, tmp_path).take()
    filed.books.create(name="Second")
    with pytest.raises(StoreLocked):
        put_back(copy.path, file, now=NOW)
    filed.close()
    (aside,) = put_back(copy.path, file, now=NOW)
    names = {}
    for path in (file, aside):
        opened = open_store(path)
        names[path] = [book.name for book in opened.books.all()]
        opened.close()
    assert names == {file: ["First"], aside: ["First", "Second"]}
    assert copy.path.exists()


def with_a_journal(store: Store, file: Path, target: Path) -> Path:
    """A copy of a database as it stands while it is open: the newest changes are in its journal only."""
    store._desk.database._writer._checkpoint()
    store.books.create(name="In the journal")
    for suffix in ("", ".wal"):
        shutil.copy2(f"{file}{suffix}", f"{target}{suffix}")
    return target


def names_in(path: Path) -> list[str]:
    opened = open_store(path)
    try:
        return [book.name for book in opened.books.all()]
    finally:
        opened.close()


def test_what_is_only_in_a_copy_s_journal_is_put_back_with_it(
    filed: Store, file: Path, tmp_path: Path
) -> None:
    copy = with_a_journal(filed, file, tmp_path / "by-hand.db")
    filed.books.create(name="Later")
    filed.close()
    put_back(copy, file, now=NOW)
    assert names_in(file) == ["In the journal"]


def test_a_database_that_was_moved_aside_keeps_its_journal_and_can_be_put_back(
    filed: Store, file: Path, tmp_path: Path
) -> None:
    copy = copies(filed, tmp_path).take()
    other = tmp_path / "other" / "marginalia.db"
    other.parent.mkdir()
    with_a_journal(filed, file, other)  # as a program that was killed leaves it
    aside = put_back(copy.path, other, now=NOW)
    assert names_in(other) == []
    assert aside[1] == aside[0].with_name(f"{aside[0].name}.wal")
    put_back(aside[0], other, now=NOW + timedelta(seconds=1))
    assert names_in(other) == ["In the journal"]


def test_a_copy_of_a_newer_version_is_not_put_back(filed: Store, file: Path, tmp_path: Path) -> None:
    filed.books.create(name="First")
    copy = copies(filed, tmp_path).take()
    filed.close()
    with duckdb.connect(str(copy.path)) as connection:
        connection.execute("INSERT INTO schema_migration (version, name, sha256) VALUES (9999, 'later', 'x')")
    with pytest.raises(StoreTooNew, match="newer version"):
        put_back(copy.path, file, now=NOW)
    assert names_in(file) == ["First"]


def test_a_copy_in_which_rows_lead_nowhere_is_put_back_only_when_that_is_wanted(
    filed: Store, file: Path, tmp_path: Path
) -> None:
    filed.story.append(filed.books.create(name="First"), "Root.")
    copy = copies(filed, tmp_path).take()
    filed.books.create(name="Second")
    filed.close()
    with duckdb.connect(str(copy.path)) as connection:
        connection.execute("DELETE FROM part_text")
    with pytest.raises(StoreDamaged, match="--anyway"):
        put_back(copy.path, file, now=NOW)
    assert names_in(file) == ["First", "Second"]
    put_back(copy.path, file, now=NOW, anyway=True)
    assert names_in(file) == ["First"]


def test_putting_back_on_a_full_disk_changes_nothing_and_leaves_nothing(
    filed: Store, small_disk: Path, tmp_path: Path
) -> None:
    filed.books.create(name="First")
    copy = copies(filed, tmp_path).take()
    file = small_disk / "marginalia.db"
    there = open_store(file)
    there.books.create(name="Mine")
    there.close()
    fill_up(small_disk)
    with pytest.raises(StoreFull, match="Free some space"):
        put_back(copy.path, file, now=NOW)
    assert sorted(each.name for each in small_disk.iterdir()) == [
        "filler",
        "marginalia.db",
        "marginalia.db.lock",
    ]
    assert names_in(file) == ["Mine"]


def test_what_a_killed_copy_has_left_is_cleared_away_by_a_later_one(filed: Store, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    left = [
        folder / "marginalia-20260101T000000Z.db.part",
        folder / "marginalia-20260101T000000Z.db.part.wal",
    ]
    (folder / "look-abc123").mkdir(parents=True)
    for path in (*left, folder / "look-abc123" / "x.db", folder / "mine.part"):
        path.write_bytes(b"x")
    for path in (*left, folder / "look-abc123"):
        os.utime(path, (0, 0))
    taken = copies(filed, tmp_path).take()
    assert sorted(each.name for each in folder.iterdir()) == sorted([taken.path.name, "mine.part"])


def test_a_damaged_copy_is_never_put_back(filed: Store, file: Path, tmp_path: Path) -> None:
    filed.books.create(name="First")
    filed.close()
    (tmp_path / "bad.db").write_bytes(b"no database")
    with pytest.raises(StoreDamaged):
        put_back(tmp_path / "bad.db", file, now=NOW)
    opened = open_store(file)
    assert [book.name for book in opened.books.all()] == ["First"]
    opened.close()
