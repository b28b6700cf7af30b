"""Transactions, the writer thread, memory, and what goes wrong with files."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest

from marginalia.errors import InvalidInput, StoreDamaged, StoreError, StoreFull, StoreLocked, StoreTooNew
from marginalia.store import Change, Store
from marginalia.store.backup_verify import verify_own
from marginalia.store.database import Database
from marginalia.store.frames import _walked
from marginalia.store.memory import Key
from marginalia.store.mending import mend
from marginalia.store.session import Session, Transaction
from marginalia.values import Book
from tests.store.helpers import START, fill_up, forget, open_store

ROOT = Path(__file__).parents[2]
SET = "INSERT INTO setting (owner, key, value) VALUES ('mara', ?, '1')"


@pytest.fixture
def database() -> Iterator[Database]:
    opened = Database.open(":memory:")
    yield opened
    opened.close()


def keys(session: Session) -> list[str]:
    return [row[0] for row in session.rows("SELECT key FROM setting ORDER BY key")]


def test_a_failing_job_takes_no_other_of_its_batch_with_it(database: Database) -> None:
    gate = threading.Event()
    blocker = database.submit(lambda _transaction: gate.wait(5))

    def bad(transaction: Transaction) -> None:
        transaction.rows(SET, "bad")
        raise InvalidInput("no")

    futures = [database.submit(lambda tx, name=name: tx.rows(SET, name)) for name in ("a", "b")]
    failing = database.submit(bad)
    futures.append(database.submit(lambda tx: tx.rows(SET, "c")))
    gate.set()
    assert blocker.result(5)
    for future in futures:
        future.result(5)
    with pytest.raises(InvalidInput, match="no"):
        failing.result(5)
    assert database.read(keys) == ["a", "b", "c"]


def test_an_error_that_a_job_swallows_still_fails_it(database: Database) -> None:
    def careless(transaction: Transaction) -> None:
        transaction.rows(SET, "a")
        with contextlib.suppress(StoreError):
            transaction.rows("SELECT * FROM nowhere")

    with pytest.raises(StoreError, match="nowhere"):
        database.write(careless)
    assert database.read(keys) == []


def test_memory_is_what_was_committed_and_work_sees_its_own_changes(database: Database) -> None:
    key: Key[str] = Key("test", 1)
    assert database.read(lambda session: session.recall(key, lambda: "old")) == "old"

    def change(transaction: Transaction) -> str:
        transaction.put(key, "new")
        return transaction.recall(key, lambda: "never")

    def fail(transaction: Transaction) -> None:
        change(transaction)
        raise InvalidInput("no")

    with pytest.raises(InvalidInput):
        database.write(fail)
    assert database.read(lambda session: session.recall(key, lambda: "lost")) == "old"
    assert database.write(change) == "new"
    assert database.read(lambda session: session.recall(key, lambda: "lost")) == "new"
    database.write(lambda transaction: transaction.forget(key))
    assert database.read(lambda session: session.recall(key, lambda: "fresh")) == "fresh"


def test_a_value_that_a_commit_has_overtaken_is_not_remembered(database: Database) -> None:
    key: Key[str] = Key("test", 1)

    def overtaken() -> str:
        if threading.current_thread() is threading.main_thread() and not asked:
            asked.append(1)
            database.write(lambda transaction: transaction.put(key, "new"))
        return "old"

    asked: list[int] = []
    assert database.read(lambda session: session.recall(key, overtaken)) == "new"


def test_many_threads_read_and_write_at_once(database: Database) -> None:
    def write(number: int) -> None:
        database.write(lambda transaction: transaction.rows(SET, f"{number:03}"))
        assert f"{number:03}" in database.read(keys)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(100)))
    assert len(database.read(keys)) == 100


def test_a_listener_that_fails_or_writes_harms_nobody(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[Change] = []
    change = Change(kind="settings")
    database.subscribe("mara", lambda _change: database.write(lambda transaction: transaction.rows(SET, "x")))
    database.subscribe("mara", told.append)
    database.write(lambda transaction: transaction.notify("mara", change))
    assert told == [change]
    assert "A listener to changes of the store failed" in caplog.text
    assert "must not" in caplog.text
    assert database.read(keys) == []


def test_closing_twice_is_closing_once_and_what_was_queued_is_stored(file: Path) -> None:
    database = Database.open(file)
    futures = [database.submit(lambda tx, n=n: tx.rows(SET, str(n))) for n in range(20)]
    database.close()
    database.close()
    assert all(future.done() for future in futures)
    with pytest.raises(StoreError, match="closed"):
        database.write(keys)
    with pytest.raises(StoreError, match="closed"):
        database.read(keys)
    again = Database.open(file)
    assert len(again.read(keys)) == 20
    again.close()


def test_nothing_is_left_in_the_journal_after_closing(file: Path) -> None:
    database = Database.open(file)
    database.write(lambda transaction: transaction.rows(SET, "a"))
    database.close()
    assert not file.with_name(file.name + ".wal").exists()


def test_an_idle_database_is_checkpointed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginalia.store.writer._IDLE", 0.01)
    database = Database.open(file)
    database.write(lambda transaction: transaction.rows(SET, "a"))
    for _ in range(200):
        if not database._engine.journal_size():
            break
        threading.Event().wait(0.01)
    assert database._engine.journal_size() == 0
    database.close()


def test_no_engine_setting_lets_sql_reach_files_or_the_network(database: Database) -> None:
    for sql in (
        "SELECT * FROM read_text('/etc/hostname')",
        "SET enable_external_access = true",
        "INSTALL fts",
    ):
        with pytest.raises(StoreError):
            database.read(lambda session, sql=sql: session.rows(sql))


def test_opening_twice_in_one_process_is_refused_with_advice(filed: Store, file: Path) -> None:
    with pytest.raises(StoreLocked, match=rf"is in use by .*process {os.getpid()}.*Close that program"):
        Database.open(file)
    assert filed.books.all() == ()


def test_a_second_process_is_told_who_holds_the_file(filed: Store, file: Path) -> None:
    book = filed.books.create(name="B")
    code = f"from tests.store.helpers import START, fill_up, forget, open_store; open_store({str(file)!r})"
    second = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert second.returncode != 0
    assert "StoreLocked" in second.stderr
    assert f"process {os.getpid()}" in second.stderr
    assert filed.story.append(book, "still mine").text == "still mine"


def test_a_program_that_holds_the_file_without_our_lock_is_named_too(file: Path) -> None:
    open_store(file).close()
    code = (
        f"import duckdb, sys; c = duckdb.connect({str(file)!r}); print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StoreLocked, match=rf"python.*process {holder.pid}"):
            Database.open(file)
        holder.communicate("")
    open_store(file).close()


@pytest.mark.parametrize("content", [b"", b"Dear diary, " * 1000, bytes(100_000)])
def test_a_file_that_is_no_database_is_refused_and_left_alone(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    with pytest.raises(StoreDamaged, match=r"cannot be read as a database.*move it away"):
        Database.open(file)
    assert file.read_bytes() == content
    file.unlink()
    Database.open(file).close()  # the lock was given back


def test_a_corrupt_block_is_named_as_damage(file: Path) -> None:
    store = open_store(file)
    store.books.create(name="B")
    store.close()
    content = bytearray(file.read_bytes())
    for at in range(0, 20_000, 512):
        content[at + 100] ^= 0xFF
    file.write_bytes(content)
    with pytest.raises(StoreDamaged, match="damaged"):
        open_store(file)


def test_a_corrupt_journal_is_named_and_moving_it_away_helps(file: Path, tmp_path: Path) -> None:
    store = open_store(file)
    store.books.create(name="before")
    store.close()
    store = open_store(file)
    store.books.create(name="after")
    for name in (
        file.name,
        f"{file.name}.wal",
    ):  # a subprocess, for closing a descriptor here would drop the lock
        subprocess.run(["cp", str(file.with_name(name)), str(tmp_path / name)], check=True)
    store.close()
    journal = tmp_path / f"{file.name}.wal"
    content = bytearray(journal.read_bytes())
    content[len(content) // 2] ^= 0xFF
    journal.write_bytes(content)
    with pytest.raises(StoreDamaged, match=r"journal beside .*\.wal.*[Mm]ove it"):
        open_store(tmp_path / file.name)
    journal.unlink()
    store = open_store(tmp_path / file.name)
    assert [book.name for book in store.books.all()] == ["before"]
    store.close()


@pytest.fixture
def with_journal(file: Path, tmp_path: Path) -> Path:
    """A database of one checkpointed part and nine that stand in the journal only, as a crash would leave it."""
    store = open_store(file)
    book = store.books.create(name="B")
    store.story.append(book, "part 0 " + "snow " * 200)
    store.close()
    store = open_store(file)
    for number in range(1, 10):
        store.story.append(book.id, f"part {number} " + "snow " * 200)
    copy = tmp_path / "copy" / file.name
    copy.parent.mkdir()
    for name in (file.name, f"{file.name}.wal"):  # a descriptor that is closed here would drop the lock
        subprocess.run(["cp", str(file.with_name(name)), str(copy.with_name(name))], check=True)
    store.close()
    return copy


def parts_in(file: Path) -> list[int]:
    store = open_store(file)
    try:
        (book,) = store.books.all()
        return [int(part.text.split()[1]) for part in store.story.branch(book)]
    finally:
        store.close()


def test_one_flipped_byte_anywhere_in_the_journal_is_said_or_harmless(
    with_journal: Path, tmp_path: Path
) -> None:
    journal = with_journal.with_name(f"{with_journal.name}.wal")
    content, said = journal.read_bytes(), 0
    for number in range(12):
        at = (2 * number + 1) * len(content) // 24
        folder = tmp_path / f"flipped-{number}"
        shutil.copytree(with_journal.parent, folder)
        (folder / journal.name).write_bytes(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
        try:
            assert parts_in(folder / with_journal.name) == list(range(10))
        except StoreDamaged as error:
            said += 1
            assert re.search(r"journal beside .*Move it to another folder", str(error))  # noqa: PT017 - either is right
            (folder / journal.name).unlink()
            assert parts_in(folder / with_journal.name) == [0]
    assert said


def test_all_that_was_written_before_a_damaged_place_of_the_journal_is_saved(with_journal: Path) -> None:
    journal = with_journal.with_name(f"{with_journal.name}.wal")
    content = bytearray(journal.read_bytes())
    content[len(content) * 3 // 4] ^= 0xFF
    journal.write_bytes(content)
    with pytest.raises(StoreDamaged, match="marginalia backup mend"):
        open_store(with_journal)
    mended = mend(with_journal, now=START)
    assert 0 < mended.kept < mended.bytes == len(content)
    found = parts_in(with_journal)
    assert found == list(range(len(found)))
    assert len(found) > 4
    assert [path.read_bytes() == bytes(content) for path in mended.aside] == [False, True]
    with pytest.raises(InvalidInput, match="no journal"):
        mend(with_journal, now=START)


def test_a_damaged_length_in_the_journal_drops_nothing_silently_and_is_put_right(with_journal: Path) -> None:
    journal = with_journal.with_name(f"{with_journal.name}.wal")
    whole = journal.read_bytes()
    start = next(at for at in range(256) if _walked(whole, at) == (len(whole), _walked(whole, at)[1]))
    lengths, at = list[int](), start
    while at < len(whole):
        lengths.append(at)
        at = _walked(whole[: at + 16 + int.from_bytes(whole[at : at + 8], "little")], at)[0]
    for at in (lengths[4], lengths[len(lengths) // 2] + 6, lengths[-6] + 1):
        journal.write_bytes(whole[:at] + bytes([whole[at] ^ 0x80]) + whole[at + 1 :])
        database = with_journal.read_bytes()
        with pytest.raises(StoreDamaged, match=r"journal beside .*marginalia backup mend"):
            open_store(with_journal)
        with pytest.raises(StoreDamaged, match="journal beside"):
            verify_own(with_journal)
        mended = mend(with_journal, now=START)
        assert mended.kept == len(whole)
        assert parts_in(with_journal) == list(range(10))
        with_journal.write_bytes(database)


def test_a_sound_journal_is_not_mended(with_journal: Path) -> None:
    with pytest.raises(InvalidInput, match="Nothing is wrong"):
        mend(with_journal, now=START)
    assert parts_in(with_journal) == list(range(10))


def test_a_sound_journal_is_not_blamed_for_a_damaged_database(with_journal: Path, tmp_path: Path) -> None:
    whole = with_journal.read_bytes()
    folder = tmp_path / "wal.wal"  # what the folder is called says nothing
    shutil.copytree(with_journal.parent, folder)
    database = folder / with_journal.name
    said = 0
    for number in range(1, 8):
        at = number * len(whole) // 8
        for damaged in (whole[:at], whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]):
            shutil.copy(with_journal.with_name(f"{with_journal.name}.wal"), folder)
            database.write_bytes(damaged)
            try:
                parts_in(database)
            except StoreDamaged as error:
                said += 1
                assert "cannot be read as a database" in str(error)  # noqa: PT017 - either is right
                assert "marginalia backup put-back" in str(error)  # noqa: PT017 - the same
    assert said > 3


def test_a_journal_that_ends_early_costs_its_end_and_nothing_before(
    with_journal: Path, tmp_path: Path
) -> None:
    journal = with_journal.with_name(f"{with_journal.name}.wal")
    content = journal.read_bytes()
    for number in range(1, 8):
        folder = tmp_path / f"cut-{number}"
        shutil.copytree(with_journal.parent, folder)
        (folder / journal.name).write_bytes(content[: number * len(content) // 8])
        found = parts_in(folder / with_journal.name)
        assert found == list(range(len(found)))
        assert found


def test_a_file_that_ends_early_is_said_or_whole_and_a_copy_brings_everything_back(
    with_journal: Path,
) -> None:
    parts_in(with_journal)
    whole, said = with_journal.read_bytes(), 0
    for share in (0.1, 0.3, 0.5, 0.7, 0.9, 0.99):
        with_journal.write_bytes(whole[: int(len(whole) * share)])
        try:
            assert parts_in(with_journal) == list(range(10))  # what is cut off was free
        except StoreDamaged as error:
            said += 1
            assert "marginalia backup put-back" in str(error)  # noqa: PT017 - either is right
    assert said > 2
    with_journal.write_bytes(whole)
    assert parts_in(with_journal) == list(range(10))


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot be made"):
        Database.open(tmp_path / "file" / "marginalia.db")


def test_a_database_of_a_newer_version_is_refused(file: Path) -> None:
    Database.open(file).close()
    connection = duckdb.connect(str(file))
    connection.execute("INSERT INTO schema_migration (version, name, sha256) VALUES (9999, 'later', 'x')")
    connection.close()
    with pytest.raises(StoreTooNew, match="newer version of Marginalia"):
        Database.open(file)


def fill(store: Store, book: Book) -> int:
    """Append until the disk is full; how many parts were acknowledged."""
    for number in range(200):
        try:
            store.story.append(book, f"{number} " + "snow " * 20_000)
        except StoreFull as error:
            assert "Free some space" in str(error)  # noqa: PT017 - what was stored until then is what is looked at
            return number
    return 200


def test_a_full_disk_is_said_and_costs_nothing_that_was_stored(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(small_disk / "marginalia.db")
    book = store.books.create(name="B")
    kept = fill(store, book)
    assert 0 < kept < 200
    assert len(store.story.parts(book)) == kept
    monkeypatch.setattr(
        "marginalia.store.engine._SPARE_BYTES", -(10**9)
    )  # the guard off: the engine gives up
    store._desk.database._writer._checkpoint()
    assert len(store.story.parts(book)) == kept
    store.close()
    store = open_store(small_disk / "marginalia.db")
    assert len(store.story.parts(book)) == kept
    store.close()


def test_a_database_on_a_full_disk_opens_and_can_be_read(small_disk: Path) -> None:
    store = open_store(small_disk / "marginalia.db")
    book = store.books.create(name="B")
    store.story.append(book, "Snow fell.")
    store.close()
    (small_disk / "marginalia.db.lock").unlink()
    fill_up(small_disk)
    store = open_store(small_disk / "marginalia.db")
    assert [part.text for part in store.story.parts(book)] == ["Snow fell."]
    with pytest.raises(StoreFull, match="Free some space"):
        store.story.append(book, "Rain " * 20_000)
    store.close()


def test_after_a_fatal_failure_the_file_is_opened_again_and_work_goes_on(
    filed: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = filed.books.create(name="B")
    database = filed._desk.database
    database._engine._connection.close()  # as the engine does when it gives up
    assert filed.story.append(book, "Snow fell.").text == "Snow fell."
    database._engine._connection.close()
    forget(filed)
    assert [part.text for part in filed.story.parts(book)] == ["Snow fell."]


def test_a_database_in_memory_cannot_come_back_and_says_so(database: Database) -> None:
    database._engine._connection.close()
    with pytest.raises(StoreError, match="in memory"):
        database.write(lambda transaction: transaction.rows(SET, "x"))
