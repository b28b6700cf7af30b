"""Backups of a book: all of it is in the file, and comes back as it was."""

from __future__ import annotations

import dataclasses
import io
import json
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

from marginalia.errors import Busy, FormatError, MarginaliaError
from marginalia.lore.book import TextFilter
from marginalia.prompt.receipt import EntryNote, Receipt
from marginalia.prompt.segments import Segment, SegmentKind
from marginalia.store import Store
from marginalia.store.backup import Backups
from marginalia.store.backup_check import checked
from marginalia.store.backup_file import is_backup, pack, unpack
from marginalia.store.backup_records import BookBackup, PartRow, without_keys
from marginalia.story.parts import Part, Summary
from marginalia.values import Book, Message, PartId, Prompts, Provider, SummaryId, Turn
from tests.store.helpers import open_store, opening

NOW = datetime(2027, 3, 1, 12, 0, tzinfo=UTC)


def written(store: Store) -> Book:
    """A book with everything a book can have."""
    sea = store.lorebooks.create(name="The Sea")
    world = store.lorebooks.create(name="World", subbooks=[sea], tags=["arid"])
    varro = store.lorebooks.add_entry(world, name="Varro", payload="He limps.", filter=TextFilter("varro"))
    store.lorebooks.delete_entry(store.lorebooks.add_entry(sea, name="Old", payload="Gone."))
    book = store.books.create(
        name="Salt Road",
        description="A caravan tale",
        tags=["arid"],
        lorebook=world,
        provider=store.providers.create(
            name="Local", base_url="http://127.0.0.1:8080/v1", key_ref="secret-place"
        ),
        protocol=store.protocols.create(name="Plain", temperature=0.7),
        prompts=Prompts(style="lush"),
        settings={"ext": {"k": 1}},
        global_variables={"laps": "3"},
    )
    root = store.story.append(book, "Root.", turn=Turn(instructions="one"), variables={"a": "1"})
    sent = Receipt(
        run_id="r",
        request="new",
        created=NOW,
        messages=(Message(role="system", content="Write."), Message(role="assistant", content="Root.")),
        segments=(
            Segment(kind=SegmentKind.LORE, message=0, start=0, end=2, tokens=1, source_id=varro.id),
            Segment(kind=SegmentKind.STORY, message=1, start=0, end=5, tokens=1, source_id=root.id),
        ),
        lore=(EntryNote(entry_id=varro.id, name="Varro", active=True, reason="said"),),
    )
    left = store.story.append(book, "Left.", receipt=sent, reasoning="Hm.", attributes={"ext.k": "v"})
    store.story.append(book, "Right.", parent=root)
    store.story.edit(left, "Left, again.")
    store.story.delete(store.story.append(book, "Thrown away.", parent=left))
    summary = Summary(id=SummaryId(0), part_id=root.id, text="s1", source_hash="h", tokens=1, created=NOW)
    store.summaries.attach(summary)
    inner = store.summaries.attach(dataclasses.replace(summary, part_id=left.id, text="s2"))
    store.summaries.attach(dataclasses.replace(inner, text="M", oldest_id=root.id, replaced=inner))
    store.story.activate(book, left)
    return store.books.get(book)


def told(store: Store, book: Book) -> Any:
    """Everything that a book says, with places instead of ids."""
    story = store.story
    parts = story.parts(book)
    place = {part.id: number for number, part in enumerate(parts)}
    fields = ("text", "reasoning", "turn", "tokens", "words", "variables", "attributes", "edited", "created")
    lorebook = store.lorebooks.get(book.lorebook_id) if book.lorebook_id else None
    entry = {each.id: each.name for each in store.lorebooks.entries(lorebook)} if lorebook else {}
    return {
        "book": [getattr(book, name) for name in ("name", "description", "tags", "prompts", "settings")],
        "variables": dict(book.global_variables),
        "leaf": place.get(book.active_leaf),
        "lore": [(each.name, each.payload, each.filter) for each in store.lorebooks.entries(lorebook)]
        if lorebook
        else None,
        "parts": [[getattr(part, name) for name in fields] for part in parts],
        "parents": [place.get(part.parent_id) for part in parts],
        "siblings": [[place[each.id] for each in story.siblings(part)] for part in parts],
        "revisions": [
            [(each.text, each.origin, each.created) for each in story.revisions(part)] for part in parts
        ],
        "receipts": [_receipt(story.receipt(part), place, entry) for part in parts],
        "summaries": [_summary(store.summaries.summary_for(part), place) for part in parts],
        "trash": [part.text for part in story.trash(book)],
    }


def _receipt(receipt: Receipt | None, place: dict[PartId, int], entry: dict[Any, str]) -> Any:
    if receipt is None:
        return None
    sources = [
        (place if each.kind is SegmentKind.STORY else entry).get(each.source_id) for each in receipt.segments
    ]
    return receipt.messages, sources, [entry.get(each.entry_id) for each in receipt.lore]


def _summary(summary: Summary | None, place: dict[PartId, int]) -> Any:
    if summary is None:
        return None
    at = (place[summary.part_id], place.get(summary.oldest_id) if summary.oldest_id else None)
    return summary.text, summary.source_hash, at, _summary(summary.replaced, place)


def backups(store: Store) -> Backups:
    return Backups(store.desk)


def through_a_file(backup: BookBackup) -> BookBackup:
    return unpack(pack(backup, now=NOW, made_by="test"))[1]


def test_a_book_comes_back_as_it_was_in_its_own_place(store: Store) -> None:
    book = written(store)
    before = told(store, book)
    kept = through_a_file(backups(store).take(book))
    store.story.append(book, "More.")
    store.story.delete(store.story.parts(book)[0])
    store.books.save(dataclasses.replace(book, name="Other", lorebook_id=None, tags=("polar",)))
    back = backups(store).apply(book, checked(kept))
    assert told(store, back) == before
    assert (back.id, back.uid) == (book.id, book.uid)
    assert (back.provider_id, back.protocol_id) == (book.provider_id, book.protocol_id)
    assert back.lorebook_id == book.lorebook_id


def test_a_book_comes_back_as_it_was_in_an_empty_installation(store: Store) -> None:
    book = written(store)
    kept = through_a_file(backups(store).take(book))
    elsewhere = open_store(":memory:")
    try:
        back = backups(elsewhere).plant(checked(kept))
        assert told(elsewhere, back) == told(store, book)
        assert back.uid == book.uid
        assert [each.uid for each in elsewhere.story.parts(back)] == [
            each.uid for each in store.story.parts(book)
        ]
        provider = elsewhere.providers.get(back.provider_id or 0)
        assert (provider.name, provider.key_ref) == ("Local", "")
        assert elsewhere.protocols.get(back.protocol_id or 0).sampling.temperature == 0.7
        again = through_a_file(backups(elsewhere).take(back))
        assert len(again.entries) == len(kept.entries)
        assert len(again.trash) == len(kept.trash)
    finally:
        elsewhere.close()


def test_what_came_back_is_there_after_reopening(filed: Store, file: Path) -> None:
    book = written(filed)
    backups(filed).apply(book, checked(through_a_file(backups(filed).take(book))))
    before = told(filed, filed.books.get(book))
    filed.close()
    again = open_store(file)
    try:
        assert told(again, again.books.get(book.id)) == before
    finally:
        again.close()


def test_a_clone_has_identifiers_of_its_own_and_touches_nothing(store: Store) -> None:
    book = written(store)
    before = told(store, book)
    copy = backups(store).plant(checked(backups(store).take(book)), name="Copy")
    assert told(store, copy) == before | {"book": ["Copy", *before["book"][1:]]}
    assert told(store, store.books.get(book)) == before
    uids = [part.uid for each in (book, copy) for part in store.story.parts(each)]
    assert len(set(uids)) == len(uids)
    assert copy.uid != book.uid
    assert copy.lorebook_id == book.lorebook_id


def test_a_deleted_part_of_a_restored_book_can_come_back(store: Store) -> None:
    book = written(store)
    copy = backups(store).plant(checked(backups(store).take(book)))
    (thrown,) = store.story.trash(copy)
    back = store.story.undelete(thrown)
    assert back.text == "Thrown away."
    assert back.book_id == copy.id


def test_a_meta_summary_of_a_restored_book_unwinds_to_the_one_it_replaced(store: Store) -> None:
    book = written(store)
    copy = backups(store).plant(checked(through_a_file(backups(store).take(book))))
    merged = next(part for part in store.story.parts(copy) if part.text == "Left, again.")
    given_back = store.summaries.remove(merged)
    assert given_back is not None
    assert (given_back.text, given_back.part_id) == ("s2", merged.id)
    original = next(part for part in store.story.parts(book) if part.text == "Left, again.")
    kept = store.summaries.summary_for(original)
    assert kept is not None
    assert kept.text == "M"


def test_the_story_alone_leaves_all_settings(store: Store) -> None:
    book = written(store)
    kept = checked(backups(store).take(book))
    store.books.save(
        dataclasses.replace(book, name="Renamed", lorebook_id=None, prompts=Prompts(style="dry"))
    )
    store.books.set_variables(book, {"laps": "9"})
    back = backups(store).apply(book, kept, story_only=True)
    assert (back.name, back.lorebook_id, back.prompts.style) == ("Renamed", None, "dry")
    assert back.global_variables == {"laps": "9"}
    assert len(store.story.parts(back)) == 3


def test_a_book_that_went_on_since_it_was_kept_is_not_replaced(store: Store) -> None:
    book = written(store)
    kept = backups(store).take(book)
    leaf = store.story.part(book.active_leaf or PartId(0))
    changes: list[Callable[[], object]] = [
        lambda: store.story.edit(leaf, "Changed."),
        lambda: store.story.append(book, "Further."),
        lambda: store.story.delete(store.story.branch(book)[-1]),
        lambda: store.summaries.remove(leaf, unwind=False),
    ]
    assert backups(store).apply(book, checked(kept), story_only=True, kept=kept).id == book.id
    for change in changes:
        now = backups(store).take(book)
        leaf = next(part for part in store.story.parts(book) if part.id == store.books.get(book).active_leaf)
        change()
        with pytest.raises(Busy, match="nothing was replaced"):
            backups(store).apply(book, checked(kept), kept=now)


def test_siblings_of_one_moment_keep_their_order(store: Store) -> None:
    book = store.books.create(name="Fast")
    for number in range(6):
        store.story.append(book, f"Version {number}.", parent=None, created=NOW)
    backup = backups(store).take(book)
    back = backups(store).apply(book, checked(dataclasses.replace(backup, parts=backup.parts[::-1])))
    first = store.story.parts(back)[0]
    assert [each.text for each in store.story.siblings(first)] == [
        f"Version {number}." for number in range(6)
    ]


def test_lore_that_is_still_there_is_linked_and_not_overwritten(store: Store) -> None:
    book = written(store)
    kept = checked(backups(store).take(book))
    (varro,) = store.lorebooks.entries(book.lorebook_id or 0)
    store.lorebooks.save_entry(dataclasses.replace(varro, payload="He runs."))
    count = len(store.lorebooks.all())
    back = backups(store).apply(book, kept)
    assert back.lorebook_id == book.lorebook_id
    assert [each.payload for each in store.lorebooks.entries(back.lorebook_id or 0)] == ["He runs."]
    assert len(store.lorebooks.all()) == count


def test_deleted_lore_comes_back_with_the_book(store: Store) -> None:
    book = written(store)
    kept = checked(backups(store).take(book))
    store.lorebooks.delete(book.lorebook_id or 0)
    back = backups(store).apply(book, kept)
    lorebook = store.lorebooks.get(back.lorebook_id or 0)
    assert lorebook.id != book.lorebook_id
    assert [each.name for each in store.lorebooks.entries(lorebook)] == ["Varro"]
    assert [store.lorebooks.get(each).name for each in lorebook.subbooks] == ["The Sea"]


def test_provider_and_protocol_are_linked_by_name_where_the_uid_is_unknown(store: Store) -> None:
    book = written(store)
    kept = checked(backups(store).take(book))
    elsewhere = open_store(":memory:")
    try:
        local = elsewhere.providers.create(name="LOCAL", base_url="http://127.0.0.1:9/v1")
        back = backups(elsewhere).plant(kept)
        assert back.provider_id == local.id
    finally:
        elsewhere.close()


def test_a_book_keeps_its_provider_where_the_backups_one_is_unknown(store: Store) -> None:
    kept = checked(backups(store).take(written(store)))
    elsewhere = open_store(":memory:")
    try:
        mine = elsewhere.providers.create(name="Mine")
        book = elsewhere.books.create(name="Ash Lane", provider=mine)
        assert "“Local”" in backups(elsewhere).links(kept.backup)[0]
        assert "http://127.0.0.1:8080/v1" in backups(elsewhere).links(kept.backup)[0]
        back = backups(elsewhere).apply(book, kept)
        assert back.provider_id == mine.id
        assert [each.name for each in elsewhere.providers.all()] == ["Mine"]
    finally:
        elsewhere.close()


def test_a_book_of_another_user_is_neither_taken_nor_replaced(store: Store) -> None:
    book = written(store)
    kept = checked(backups(store).take(book))
    other = store.for_user("elias")
    with pytest.raises(MarginaliaError, match="There is no book"):
        backups(other).take(book)
    with pytest.raises(MarginaliaError, match="There is no book"):
        backups(other).apply(book, kept)
    copy = backups(other).plant(kept)
    assert copy.owner == "elias"
    assert {each.owner for each in other.lorebooks.all()} == {"elias"}
    assert other.lorebooks.get(copy.lorebook_id or 0).id != book.lorebook_id


def test_an_answer_on_its_way_is_kept_as_far_as_it_has_come(store: Store) -> None:
    book = store.books.create(name="Salt Road")
    root = store.story.append(book, "Root.")

    async def stream() -> Part:
        opened = await store.archive.open_part(opening(book, parent=root.id))
        part = dataclasses.replace(opened.part, text="Half an ans")
        await store.archive.checkpoint(part)
        return part

    part = anyio.run(stream)
    kept = backups(store).take(book)
    with pytest.raises(Busy):
        backups(store).apply(book, checked(kept))
    copy = backups(store).plant(checked(through_a_file(kept)))
    last = store.story.branch(copy)[-1]
    assert (last.text, last.partial, last.tokens, last.background_lore) == (
        "Half an ans",
        True,
        3,
        part.background_lore,
    )
    assert store.story.receipt(last) is not None


def test_a_part_without_an_answer_yet_is_not_in_the_backup(store: Store) -> None:
    book = store.books.create(name="Salt Road")
    root = store.story.append(book, "Root.")

    async def begin() -> None:
        await store.archive.open_part(opening(book, parent=root.id))

    anyio.run(begin)
    copy = backups(store).plant(checked(through_a_file(backups(store).take(book))))
    assert [each.text for each in store.story.branch(copy)] == ["Root."]


def test_no_key_and_nothing_like_one_is_in_a_backup(store: Store) -> None:
    provider = store.providers.create(
        name="Far",
        base_url="https://user:hunter2@models.example/v1?key=hunter2",
        key_ref="hunter2-place",
        additional_parameters={
            "api_key": "hunter2",
            "top_k": 40,
            "max_tokens": 5,
            "extra_headers": {"Authorization": "Bearer hunter2", "x-title": "Marginalia"},
        },
        settings={"nested": [{"access_token": "hunter2"}]},
    )
    book = store.books.create(name="Salt Road", provider=provider)
    data = pack(backups(store).take(book), now=NOW, made_by="test")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert all(b"hunter2" not in archive.read(name) for name in archive.namelist())
    safe = without_keys(provider)
    assert safe.additional_parameters == {
        "top_k": 40,
        "max_tokens": 5,
        "extra_headers": {"x-title": "Marginalia"},
    }
    assert safe.base_url == "https://models.example/v1"


def test_the_same_book_makes_the_same_file(store: Store) -> None:
    book = written(store)
    files = [pack(backups(store).take(book), now=NOW, made_by="test") for _ in range(2)]
    assert files[0] == files[1]
    assert is_backup(files[0])


def test_times_in_the_file_name_their_zone(store: Store) -> None:
    data = pack(backups(store).take(written(store)), now=NOW, made_by="test")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = [json.loads(line) for line in archive.read("parts.jsonl").splitlines()]
    assert all(part["created"].endswith("Z") for part in parts)


@pytest.mark.parametrize("at", [0, 40, 400, 2000, -200, -30])
def test_a_damaged_file_is_refused_with_a_sentence(store: Store, at: int) -> None:
    data = bytearray(pack(backups(store).take(written(store)), now=NOW, made_by="test"))
    data[at] ^= 0x55
    try:
        found = unpack(bytes(data))[1]
    except FormatError:
        found = None
    # A byte that says nothing about the contents, such as a time in the directory, does no harm.
    assert found in (None, through_a_file(backups(store).take(store.books.all()[0])))


def test_a_cut_file_is_refused(store: Store) -> None:
    data = pack(backups(store).take(written(store)), now=NOW, made_by="test")
    for length in (0, 10, len(data) // 2, len(data) - 1):
        with pytest.raises(FormatError):
            unpack(data[:length])


def test_a_newer_format_is_refused_and_says_what_to_do(store: Store) -> None:
    data = _with_manifest(pack(backups(store).take(written(store)), now=NOW, made_by="test"), version=99)
    with pytest.raises(FormatError, match="newest version"):
        unpack(data)


def test_another_zip_is_no_backup() -> None:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        archive.writestr("hello.txt", "hello")
    assert not is_backup(raw.getvalue())
    assert not is_backup(b"{}")


def test_a_bomb_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch, store: Store) -> None:
    monkeypatch.setattr("marginalia.store.backup_file._LARGEST", 100)
    with pytest.raises(FormatError, match="2 GB"):
        unpack(pack(backups(store).take(written(store)), now=NOW, made_by="test"))


Change = Callable[[BookBackup], BookBackup]


def _first_part(backup: BookBackup, **fields: Any) -> BookBackup:
    return dataclasses.replace(
        backup, parts=(dataclasses.replace(backup.parts[0], **fields), *backup.parts[1:])
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda backup: _first_part(backup, version=10**9),
        lambda backup: dataclasses.replace(backup, parts=(*backup.parts, backup.parts[0])),
        lambda backup: dataclasses.replace(
            backup, versions=tuple(dataclasses.replace(each, origin="magic") for each in backup.versions)
        ),
        lambda backup: dataclasses.replace(
            backup,
            versions=tuple(dataclasses.replace(each, detail={"tokens": "many"}) for each in backup.versions),
        ),
        lambda backup: dataclasses.replace(
            backup,
            versions=tuple(dataclasses.replace(each, detail={"words": -1}) for each in backup.versions),
        ),
        lambda backup: dataclasses.replace(
            backup, book=dataclasses.replace(backup.book, settings={"tags": 5})
        ),
        lambda backup: dataclasses.replace(backup, book=dataclasses.replace(backup.book, name=" ")),
        lambda backup: dataclasses.replace(
            backup, summaries=tuple(dataclasses.replace(each, data={}) for each in backup.summaries)
        ),
        lambda backup: dataclasses.replace(
            backup,
            entries=tuple(dataclasses.replace(each, settings={"ordinal": []}) for each in backup.entries),
        ),
        lambda backup: dataclasses.replace(
            backup,
            receipts=tuple(dataclasses.replace(each, body={"segments": 3}) for each in backup.receipts),
        ),
    ],
)
def test_rows_that_cannot_be_read_are_refused_before_anything_is_replaced(
    store: Store, change: Change
) -> None:
    backup = through_a_file(backups(store).take(written(store)))
    with pytest.raises(FormatError, match="backup"):
        checked(through_a_file(change(backup)))


def test_a_part_without_its_parent_becomes_a_first_part_and_an_unknown_leaf_is_none(store: Store) -> None:
    book = written(store)
    backup = backups(store).take(book)
    right = store.story.parts(book)[2]
    loose = tuple(
        dataclasses.replace(part, parent=10**6) if part.id == right.id else part for part in backup.parts
    )
    found = checked(
        dataclasses.replace(backup, parts=loose, book=dataclasses.replace(backup.book, active_part=10**6))
    )
    assert len(found.notes) == 2
    back = backups(store).apply(book, found, story_only=True)
    parts = store.story.parts(back)
    assert [part.parent_id for part in parts] == [None, parts[0].id, None]
    assert back.active_leaf is None


def test_a_circle_of_parts_is_opened() -> None:
    rows = tuple(
        PartRow(id=number, uid=str(number), parent=above, version=number, created=NOW)
        for number, above in ((1, 3), (2, 1), (3, 2), (4, 4))
    )
    store = open_store(":memory:")
    try:
        book = store.books.create(name="Ring")
        for number in range(4):
            store.story.append(book, f"Part {number}.", parent=None)
        backup = backups(store).take(book)
        versions = tuple(
            dataclasses.replace(version, id=row.id, part=row.id)
            for version, row in zip(backup.versions, rows, strict=True)
        )
        bent = dataclasses.replace(
            backup, parts=rows, versions=versions, book=dataclasses.replace(backup.book, active_part=4)
        )
        back = backups(store).apply(book, checked(bent))
        assert len([part for part in store.story.parts(back) if part.parent_id is None]) == 2
        assert [part.text for part in store.story.branch(back)] == ["Part 3."]
    finally:
        store.close()


def test_a_failing_restore_leaves_everything(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    book = written(store)
    before = told(store, book)
    kept = checked(backups(store).take(book))
    store.story.append(book, "Later.", parent=None)
    store.story.activate(book, book.active_leaf)
    after = told(store, store.books.get(book))

    def fail(*_: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr("marginalia.store.backup_write._write_trash", fail)
    with pytest.raises(RuntimeError, match="no"):
        backups(store).apply(book, kept)
    assert told(store, store.books.get(book)) == after != before


def test_a_text_with_half_a_surrogate_pair_survives(store: Store) -> None:
    book = store.books.create(name="Odd", description="half \ud83d", settings={"k": "\udc00"})
    store.story.append(book, "cut \ud83d here")
    copy = backups(store).plant(checked(through_a_file(backups(store).take(book))))
    assert [part.text for part in store.story.parts(copy)] == ["cut � here"]


def test_a_key_is_not_sent_to_where_a_strange_backup_points(store: Store) -> None:
    """A backup made by somebody else may name any server; it never gets a key of ours."""
    provider = dataclasses.replace(Provider(name="Trap", base_url="http://trap.example/v1"), key_ref="mine")
    backup = backups(store).take(written(store))
    assert backup.provider is not None
    bent = dataclasses.replace(
        backup,
        provider=dataclasses.replace(
            backup.provider, uid="x", name="Trap", settings={"base_url": provider.base_url, "key_ref": "mine"}
        ),
    )
    elsewhere = open_store(":memory:")
    try:
        back = backups(elsewhere).plant(checked(bent))
        assert elsewhere.providers.get(back.provider_id or 0).key_ref == ""
    finally:
        elsewhere.close()


def _with_manifest(data: bytes, **fields: object) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(raw, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "manifest.json":
                content = json.dumps(json.loads(content) | fields).encode()
            new.writestr(name, content)
    return raw.getvalue()


def test_a_file_of_the_first_version_of_the_format_is_still_the_same_book(store: Store) -> None:
    """The file is never made anew: what was written once has to come back for ever."""
    file = Path(__file__).parent / "data" / "book-v1.marginalia"
    manifest, backup = unpack(file.read_bytes())
    assert manifest.version == 1
    back = backups(store).plant(checked(backup))
    expected = open_store(":memory:")
    try:
        assert told(store, back) == told(expected, written(expected))
    finally:
        expected.close()
