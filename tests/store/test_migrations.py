"""Bringing a database to the newest schema."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from marginalia.errors import StoreDamaged, StoreError, StoreFull
from marginalia.store.migrations import Migration, open_migrated, shipped
from tests.store.helpers import START, fill_up, open_store

FIRST = Migration(
    version=1, name="first", sql="CREATE TABLE thing (id BIGINT PRIMARY KEY); INSERT INTO thing VALUES (1)"
)
SECOND = Migration(
    version=2, name="second", sql="ALTER TABLE thing ADD COLUMN name VARCHAR; UPDATE thing SET name = 'x';"
)
BROKEN = Migration(version=2, name="broken", sql="INSERT INTO thing VALUES (2); SELECT * FROM nowhere;")


def rows(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[object, ...]]:
    found = connection.execute(sql).fetchall()
    connection.close()
    return found


def test_every_step_leaves_a_record(tmp_path: Path) -> None:
    connection = open_migrated(tmp_path / "m.db", [FIRST, SECOND])
    found = rows(
        connection, "SELECT version, name, sha256, duckdb_version FROM schema_migration ORDER BY version"
    )
    assert found == [
        (1, "first", FIRST.sha256, f"v{duckdb.__version__}"),
        (2, "second", SECOND.sha256, f"v{duckdb.__version__}"),
    ]


def test_a_copy_is_kept_before_an_existing_file_is_changed(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    open_migrated(path, [FIRST]).close()
    assert [each.name for each in tmp_path.iterdir()] == ["m.db"]
    assert rows(open_migrated(path, [FIRST, SECOND]), "SELECT id, name FROM thing") == [(1, "x")]
    kept = tmp_path / "m.db.before-0002"
    assert rows(duckdb.connect(str(kept)), "SELECT * FROM thing") == [(1,)]


def test_without_room_for_that_copy_nothing_is_changed_and_it_is_said(small_disk: Path) -> None:
    path = small_disk / "m.db"
    open_migrated(path, [FIRST]).close()
    fill_up(small_disk)
    with pytest.raises(StoreFull, match=r"only when a copy of it was kept.*Free some space"):
        open_migrated(path, [FIRST, SECOND])
    assert sorted(each.name for each in small_disk.iterdir()) == ["filler", "m.db"]
    (small_disk / "filler").unlink()
    assert rows(open_migrated(path, [FIRST, SECOND]), "SELECT id, name FROM thing") == [(1, "x")]


def test_opening_again_changes_and_copies_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    for _ in range(2):
        open_migrated(path, [FIRST]).close()
    assert [each.name for each in tmp_path.iterdir()] == ["m.db"]


def test_a_step_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    open_migrated(path, [FIRST]).close()
    with pytest.raises(StoreError, match="nowhere"):
        open_migrated(path, [FIRST, BROKEN])
    assert rows(open_migrated(path, [FIRST]), "SELECT id FROM thing") == [(1,)]


def test_a_file_whose_schema_was_made_otherwise_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    open_migrated(path, [Migration(version=1, name="first", sql="CREATE TABLE other (id BIGINT)")]).close()
    with pytest.raises(StoreDamaged, match="another build"):
        open_migrated(path, [FIRST])


def test_the_fingerprint_does_not_depend_on_line_ends() -> None:
    assert (
        Migration(version=1, name="a", sql="x\ny\n").sha256
        == Migration(version=1, name="a", sql="x\r\ny").sha256
    )


def test_the_shipped_steps_are_numbered_without_a_gap() -> None:
    assert [step.version for step in shipped()] == list(range(1, len(shipped()) + 1))


def test_the_schema_has_no_foreign_keys_and_no_secondary_indexes() -> None:
    connection = open_migrated(None)
    constraints = connection.execute("SELECT DISTINCT constraint_type FROM duckdb_constraints()").fetchall()
    assert {kind for (kind,) in constraints} <= {"PRIMARY KEY", "NOT NULL"}
    assert rows(connection, "SELECT * FROM duckdb_indexes()") == []


def test_a_story_of_the_first_schema_has_no_marks_and_can_be_changed_and_undone(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    connection = open_migrated(path, shipped()[:1])
    connection.execute(
        "INSERT INTO book (uid, owner, name, data, created_at, updated_at) VALUES ('b', 'mara', 'B', '{}', ?, ?)",
        [START, START],
    )
    connection.execute("INSERT INTO part (uid, book_id, text_id, created_at) VALUES ('p', 1, 1, ?)", [START])
    connection.execute(
        "INSERT INTO part_text (part_id, book_id, origin, text, reasoning, detail, created_at) "
        "VALUES (1, 1, 'written', 'Snow fell.', '', ?, ?)",
        ['{"uid": "p"}', START],
    )
    connection.close()
    store = open_store(path)
    (book,) = store.books.all()
    (part,) = store.story.parts(book)
    assert (part.text, part.label, part.bookmarked) == ("Snow fell.", "", False)
    store.story.mark(part, label="here")
    store.close()
    store = open_store(path)
    assert store.story.part(part.id).label == "here"
    store.story.undo(book)
    assert store.story.part(part.id) == part
    store.close()
