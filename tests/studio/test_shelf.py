"""Backups of books as a writer uses them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

import marginalia as mg
from marginalia.testing import Pause, ScriptedServer, Stream, WordTokenizer
from marginalia.values import Progress

START = datetime(2027, 1, 1, 10, 0, tzinfo=UTC)


def opened(path: Path | str) -> mg.Studio:
    ticks = count(1)
    return mg.Studio(
        path,
        tokenizer=WordTokenizer(),
        clock=lambda: START + timedelta(seconds=next(ticks)),
        seed=1,
        extensions=(),
    )


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[mg.Studio]:
    with opened(tmp_path / "marginalia.db") as made:
        yield made


@pytest.fixture
def book(studio: mg.Studio) -> mg.Book:
    made = studio.books.create(name="Salt Road")
    studio.story.append(made, "Root.")
    return studio.books.get(made)


def texts(studio: mg.Studio, book: mg.Book) -> list[str]:
    return [part.text for part in studio.story.parts(book)]


def test_a_backup_says_what_is_in_it(studio: mg.Studio, book: mg.Book) -> None:
    studio.story.edit(studio.story.parts(book)[0], "Root, again.")
    contents = studio.books.contents(studio.books.backup(book))
    assert (contents.name, contents.parts, contents.texts, contents.words) == ("Salt Road", 1, 2, 2)
    assert contents.notes == ()
    assert contents.created.utcoffset() is not None


def test_what_a_restore_replaces_is_kept_as_a_backup(
    studio: mg.Studio, book: mg.Book, tmp_path: Path
) -> None:
    data = studio.books.backup(book)
    studio.story.append(book, "Later.")
    assert texts(studio, studio.books.restore(book, data)) == ["Root."]
    (kept,) = (tmp_path / "backups" / "before-restore").iterdir()
    assert kept.name.startswith("Salt-Road-")
    assert texts(studio, studio.books.restore(book, kept.read_bytes())) == ["Root.", "Later."]


def test_only_the_last_books_that_were_replaced_are_kept(
    studio: mg.Studio, book: mg.Book, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("marginalia.studio.shelf._KEPT", 2)
    data = studio.books.backup(book)
    for _ in range(4):
        studio.books.restore(book, data)
    assert len(list((tmp_path / "backups" / "before-restore").iterdir())) == 2


def test_nobody_s_restores_push_out_what_another_one_s_replaced(
    studio: mg.Studio, book: mg.Book, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("marginalia.studio.shelf._KEPT", 2)
    studio.books.restore(book, studio.books.backup(book))
    guest = studio.for_user("elias/../mara")
    theirs = guest.books.create(name="Harbour")
    for _ in range(4):
        guest.books.restore(theirs, guest.books.backup(theirs))
    kept = [each.name for each in (tmp_path / "backups" / "before-restore").rglob("*.marginalia")]
    assert sorted(name.partition("-20")[0] for name in kept) == ["Harbour", "Harbour", "Salt-Road"]


def test_a_book_of_any_name_is_kept_before_it_is_replaced(studio: mg.Studio) -> None:
    book = studio.books.create(name="\U00010330" * 100)  # four bytes each
    assert studio.books.restore(book, studio.books.backup(book)).name == book.name


def test_nothing_is_replaced_where_that_cannot_be_kept(
    studio: mg.Studio, book: mg.Book, tmp_path: Path
) -> None:
    data = studio.books.backup(book)
    studio.story.append(book, "Later.")
    (tmp_path / "backups").mkdir()
    (tmp_path / "backups" / "before-restore").write_text("a file")
    with pytest.raises(mg.StoreError, match="nothing was replaced"):
        studio.books.restore(book, data)
    assert texts(studio, book) == ["Root.", "Later."]


def test_a_backup_that_is_none_replaces_nothing(studio: mg.Studio, book: mg.Book, tmp_path: Path) -> None:
    with pytest.raises(mg.FormatError):
        studio.books.restore(book, b"no backup")
    assert texts(studio, book) == ["Root."]
    assert not (tmp_path / "backups").exists()


def test_restore_without_data_brings_a_deleted_book_back(studio: mg.Studio, book: mg.Book) -> None:
    studio.books.delete(book)
    assert studio.books.restore(book).id == book.id


def steps_of(work: Callable[[Progress], object]) -> list[float]:
    told: list[float] = []
    work(told.append)
    assert told == sorted(told)
    assert 0 <= told[0] <= told[-1] <= 1
    return told


def stopped_at(work: Callable[[Progress], object], at: int) -> None:
    told: list[float] = []

    def tell(share: float) -> None:
        told.append(share)
        if len(told) > at:
            raise CancelledError

    with pytest.raises(CancelledError):
        work(tell)


def test_backups_and_the_way_back_tell_how_far_they_are_and_change_nothing_when_they_are_ended(
    studio: mg.Studio, book: mg.Book
) -> None:
    data = studio.books.backup(book)
    studio.story.append(book, "Later.")
    before = [each.name for each in studio.books.all()]
    works: list[Callable[[Progress], object]] = [
        lambda progress: studio.books.backup(book, progress=progress),
        lambda progress: studio.books.restore(book, data, progress=progress),
        lambda progress: studio.books.clone(data, name="Twin", progress=progress),
    ]
    for number, work in enumerate(works):
        for at in range(18):
            stopped_at(work, at)
            assert texts(studio, book) == ["Root.", "Later."], number
            assert [each.name for each in studio.books.all()] == before
    assert all(len(steps_of(work)) >= 18 for work in works)
    assert texts(studio, book) == ["Root."]


def test_a_clone_is_made_of_a_book_or_of_a_backup(studio: mg.Studio, book: mg.Book) -> None:
    for source in (book, studio.books.backup(book)):
        copy = studio.books.clone(source, name="  Copy ")
        assert (copy.name, texts(studio, copy)) == ("Copy", ["Root."])
    with pytest.raises(mg.InvalidInput):
        studio.books.clone(book, name=" ")


async def test_a_book_that_is_being_written_to_is_not_replaced() -> None:
    slow = Stream("Half", Pause(5.0), " an answer.")
    async with ScriptedServer([slow]) as server, opened(":memory:") as studio:
        provider = studio.providers.create(
            name="Scripted",
            base_url=server.base_url,
            model="scripted",
            max_context=4000,
            max_response=100,
        )
        protocol = studio.protocols.create(name="Plain")
        book = studio.books.create(name="Salt Road", provider=provider, protocol=protocol)
        data = studio.books.backup(book)
        run = studio.generate(book, mg.Turn(instructions="Go on."))
        with pytest.raises(mg.Busy):
            studio.books.restore(book, data)
        run.stop()
        await run.settled()
        assert texts(studio, studio.books.restore(book, data)) == []


def test_the_active_branch_leaves_as_a_file(studio: mg.Studio, book: mg.Book) -> None:
    studio.story.append(book, "# Ford\n\nShe *waits*.")
    studio.story.append(book, "Elsewhere.", parent=None)
    studio.story.activate(book, studio.story.parts(book)[1])
    text = studio.story.export(book, "txt", author="A. Writer").decode()
    assert text.startswith("Salt Road\nA. Writer\n")
    assert "She waits." in text
    assert "Elsewhere." not in text
    assert studio.story.export(book, "txt", first=2, title_page=False).decode() == "Ford\n\nShe waits.\n"
    with pytest.raises(mg.InvalidInput):
        studio.story.export(book, "rtf")


def test_no_key_leaves_in_any_file(studio: mg.Studio) -> None:
    studio.keys.set("far", "sk-very-secret")
    provider = studio.providers.create(
        name="Far", base_url="https://models.example/v1", key_ref="far", model="m"
    )
    book = studio.books.create(name="Salt Road", provider=provider)
    studio.story.append(book, "Root.")
    files = [studio.story.export(book, key) for key in ("md", "txt", "html", "epub", "docx", "pdf")]
    files += [studio.books.backup(book), studio.copies.take().path.read_bytes()]
    assert all(b"sk-very-secret" not in data for data in files)


def test_copies_are_taken_when_they_are_due(studio: mg.Studio) -> None:
    day = timedelta(days=1)
    assert studio.copies.due_in(day) <= timedelta(0)
    copy = studio.copies.take()
    assert timedelta(0) < studio.copies.due_in(day) < day
    assert studio.copies.verify(copy).problems == ()


def test_a_studio_in_memory_has_no_copies_and_keeps_nothing() -> None:
    with opened(":memory:") as studio:
        assert studio.copies.all() == ()
        book = studio.books.create(name="Salt Road")
        assert studio.books.restore(book, studio.books.backup(book)).name == "Salt Road"
