"""Importing and exporting through a studio: in one transaction, with a report that is kept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import marginalia as mg
from marginalia.formats import Fidelity
from marginalia.studio.lorebooks import Upload
from marginalia.testing import WordTokenizer
from tests.formats.helpers import DATA, FILES, as_bytes, world

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def studio() -> Iterator[mg.Studio]:
    with mg.Studio(":memory:", tokenizer=WordTokenizer(), seed=1, extensions=()) as opened:
        yield opened


LORE = (
    "agnai",
    "aidungeon",
    "koboldai",
    "marginalia-java",
    "mikupad",
    "novelai",
    "risuai",
    "tavern.",
    "tavernai.world",
)


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.name.startswith(LORE)], ids=lambda path: path.name
)
def test_every_file_goes_through_the_database_and_comes_back(studio: mg.Studio, path: Path) -> None:
    report = studio.lorebooks.import_file(path)
    again = json.loads(studio.lorebooks.export(report.lorebooks[0], report.format))
    assert again == json.loads(path.read_bytes())


def test_the_report_is_kept_with_the_lorebook(studio: mg.Studio) -> None:
    report = studio.lorebooks.import_file(DATA / "risuai.lorebook.json")
    kept = studio.lorebooks.report(report.lorebooks[0])
    assert kept is not None
    assert (kept.notes, kept.file, kept.title) == (report.notes, "risuai.lorebook.json", "RisuAI lorebook")
    assert report.count(Fidelity.TAKEN) == 6
    assert str(report) == "RisuAI lorebook 'risuai.lorebook': 6 taken, 1 kept but inactive, 1 not understood."
    own = studio.lorebooks.create(name="Written here")
    assert studio.lorebooks.report(own) is None


def test_the_original_of_every_entry_is_kept(studio: mg.Studio) -> None:
    report = studio.lorebooks.import_file(DATA / "tavernai.world-info.json")
    original = json.loads((DATA / "tavernai.world-info.json").read_bytes())["entries"]
    assert [entry.raw for entry in studio.lorebooks.entries(report.lorebooks[0])] == list(original.values())


def test_a_preview_says_the_same_and_stores_nothing(studio: mg.Studio) -> None:
    preview = studio.lorebooks.preview_import(DATA / "novelai.lorebook")
    assert studio.lorebooks.all() == ()
    report = studio.lorebooks.import_file(DATA / "novelai.lorebook")
    assert (preview.notes, preview.names, preview.lorebooks) == (report.notes, report.names, ())


def test_a_lorebook_gets_the_name_that_was_given(studio: mg.Studio) -> None:
    report = studio.lorebooks.import_file(as_bytes(world(name="In the file")), name="Mine")
    assert [book.name for book in report.lorebooks] == ["Mine"]


def test_an_upload_has_a_name_for_lore_that_has_none(studio: mg.Studio) -> None:
    report = studio.lorebooks.import_file(Upload("Delta.JSON", as_bytes(world())))
    assert report.names == ("Delta",)
    assert (
        studio.import_story(Upload("Boat.jsonl", (DATA / "tavernai.chat.jsonl").read_bytes())).book.name
        == "Boat"
    )


def test_a_file_that_is_refused_leaves_nothing_behind(studio: mg.Studio) -> None:
    for data in (
        b"{",
        b'{"entries": 5, "lorebookVersion": 6}',
        as_bytes({"format": "marginalia-lorebook", "root": "x", "lorebooks": []}),
    ):
        with pytest.raises(mg.FormatError):
            studio.lorebooks.import_file(data)
    assert studio.lorebooks.all() == ()


def test_a_path_that_cannot_be_read_is_refused_in_a_sentence(studio: mg.Studio, tmp_path: Path) -> None:
    with pytest.raises(mg.FormatError, match=r"'gone.json' cannot be read: No such file"):
        studio.lorebooks.import_file(tmp_path / "gone.json")
    with pytest.raises(mg.FormatError, match="cannot be read"):
        studio.lorebooks.import_file(tmp_path)
    with pytest.raises(mg.FormatError, match="cannot be read"):
        studio.import_story("a\0b")


def test_many_files_come_in_each_by_itself(studio: mg.Studio, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{")
    told: list[tuple[int, int, str]] = []
    sources = [DATA / "agnai.memory-book.json", tmp_path / "bad.json", as_bytes(world())]
    reports = studio.lorebooks.import_files(sources, progress=lambda *each: told.append(each))
    assert [bool(report.lorebooks) for report in reports] == [True, False, True]
    assert "line 1" in reports[1].problem
    assert told == [(0, 3, "agnai.memory-book.json"), (1, 3, "bad.json"), (2, 3, "")]


def test_an_import_always_makes_new_lorebooks_and_keeps_uids_that_are_free(studio: mg.Studio) -> None:
    path = DATA / "marginalia-java.lorebook-v2.json"
    first, second = studio.lorebooks.import_file(path), studio.lorebooks.import_file(path)
    uids = [each["uuid"] for each in json.loads(path.read_bytes())["lorebooks"]]
    assert [book.uid for book in first.lorebooks] == uids
    assert not {book.uid for book in second.lorebooks} & set(uids)
    again = json.loads(studio.lorebooks.export(second.lorebooks[0]))
    assert again["root"] == second.lorebooks[0].uid
    assert [book["subbooks"] for book in again["lorebooks"]] == [
        [second.lorebooks[1].uid],
        [second.lorebooks[0].uid],
    ]


def test_lore_written_here_goes_out_and_comes_in_with_everything(studio: mg.Studio) -> None:
    inner = studio.lorebooks.create(name="Inner", enabled=False, description="below")
    outer = studio.lorebooks.create(name="Outer", tags=["winter"], subbooks=[inner])
    studio.lorebooks.add_entry(
        outer,
        name="Varro",
        payload="The captain.",
        filter=mg.TextFilter("varro"),
        match=mg.Match(none=(mg.Pattern(text="ghost", whole_word=True),)),
        when=mg.When(chance=40, sticky=2),
        insertion=mg.Insertion.DEPTH,
        note="a note",
    )
    gone = studio.lorebooks.add_entry(inner, name="Gone")
    studio.lorebooks.delete_entry(gone)
    file = studio.lorebooks.export(outer)
    assert file.file_name == "Outer.json"
    with mg.Studio(":memory:", extensions=()) as other:
        books = other.lorebooks.import_file(bytes(file)).lorebooks
        assert [(each.uid, each.name, each.enabled, each.tags, each.description) for each in books] == [
            (outer.uid, "Outer", True, ("winter",), ""),
            (inner.uid, "Inner", False, (), "below"),
        ]
        (entry,), nothing = (other.lorebooks.entries(each) for each in books)
        (original,) = studio.lorebooks.entries(outer)
        assert nothing == ()
        assert (entry.filter, entry.match, entry.when) == (original.filter, original.match, original.when)
        assert (entry.insertion, entry.note, entry.payload) == (original.insertion, "a note", "The captain.")
        assert json.loads(other.lorebooks.export(books[0])) == json.loads(file)


def test_the_java_original_finds_nothing_strange_in_lore_that_it_can_say(studio: mg.Studio) -> None:
    world_ = studio.lorebooks.create(name="World")
    studio.lorebooks.add_entry(world_, name="Varro", payload="p", filter=mg.RegexFilter("var+o"))
    written = json.loads(studio.lorebooks.export(world_))
    assert written == {
        "format": "marginalia-lorebook",
        "version": 2,
        "root": world_.uid,
        "lorebooks": [
            {
                "uuid": world_.uid,
                "name": "World",
                "enabled": True,
                "tags": [],
                "subbooks": [],
                "entries": [
                    {
                        "name": "Varro",
                        "payload": "p",
                        "comment": None,
                        "enabled": True,
                        "order": 100,
                        "filtering": "var+o",
                        "filteringMode": "REGEX",
                        "insertionMode": "IN_LORE_BLOCK",
                        "tags": [],
                        "negativeTags": [],
                    }
                ],
            }
        ],
    }
    older = json.loads(studio.lorebooks.export(world_, "marginalia_v1"))
    assert (older["version"], "lorebooks" in older, older["entries"][0]["name"]) == (1, False, "Varro")


def test_an_entry_that_was_added_or_deleted_here_is_so_in_the_file(studio: mg.Studio) -> None:
    report = studio.lorebooks.import_file(DATA / "agnai.memory-book.json")
    first, *_ = studio.lorebooks.entries(report.lorebooks[0])
    studio.lorebooks.delete_entry(first)
    studio.lorebooks.add_entry(report.lorebooks[0], name="New", payload="n", filter=mg.TextFilter("new"))
    found = json.loads(studio.lorebooks.export(report.lorebooks[0], "agnai"))["entries"]
    assert [each["name"] for each in found][-1] == "New"
    assert "Ilse Marrow" not in [each["name"] for each in found]


def test_a_large_world_info_file_is_searchable_at_once(studio: mg.Studio) -> None:
    rows = ({"key": [f"name {at}"], "content": f"text {at}", "comment": f"Entry {at}"} for at in range(3_000))
    report = studio.lorebooks.import_file(as_bytes(world(*rows)))
    found = studio.lorebooks.entries(report.lorebooks[0])
    assert [entry.name for entry in found] == [f"Entry {at}" for at in range(3_000)]


def test_names_and_texts_with_every_character_are_stored(studio: mg.Studio) -> None:
    row = {"key": ["k\u0000ey"], "content": "a\u0000b🐉", "comment": "na\u0000me"}
    report = studio.lorebooks.import_file(as_bytes(world(row)))
    (entry,) = studio.lorebooks.entries(report.lorebooks[0])
    assert (entry.name, entry.payload) == ("na me", "a\u0000b🐉")
    assert json.loads(studio.lorebooks.export(report.lorebooks[0], "sillytavern"))["entries"]["0"] == {
        "uid": 0,
        **row,
    }


def test_a_chat_becomes_a_book_with_its_branches(studio: mg.Studio) -> None:
    report = studio.import_story(DATA / "tavernai.chat.jsonl", name="The boat")
    book = studio.books.get(report.book)
    branch = studio.story.branch(book)
    assert (book.name, report.parts, report.branches) == ("The boat", 3, 2)
    assert str(report) == "SillyTavern chat 'The boat': 3 parts, 2 branches."
    assert branch[-1].turn.instructions == "What is in it?"
    assert branch[-1].words == len(branch[-1].text.replace("'", " ").split())
    assert [part.text for part in studio.story.siblings(branch[-1])][1].endswith("not empty at all.")
    assert branch[0].attributes["import"]["name"] == "Ilse Marrow"


def test_a_deep_tree_comes_in_whole(studio: mg.Studio) -> None:
    nodes = {str(at): {"text": f"part {at}", "parentId": str(at - 1) if at else None} for at in range(1_500)}
    report = studio.import_story(as_bytes({"current": "1499", "nodes": nodes}))
    assert len(studio.story.branch(report.book)) == 1_500
    assert report.branches == 1


def test_every_story_among_the_files_becomes_a_book(studio: mg.Studio) -> None:
    names = (
        "koboldai.save-v1.json",
        "koboldai.save-v2.json",
        "novelai.scenario.json",
        "openwebui.chats.json",
        "loom.pyloom-tree.json",
    )
    for name in names:
        report = studio.import_story(DATA / name)
        assert len(studio.story.parts(report.book)) == report.parts > 0
        assert studio.story.branch(report.book)


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ('a/b\\c: "d"', "a-b-c- -d-.json"),
        ("..", "lorebook.json"),
        ("\U00010330" * 90, "\U00010330" * 50 + ".json"),
    ],
)
def test_the_file_that_is_offered_has_a_name_that_files_may_have(name: str, offered: str) -> None:
    with mg.Studio(":memory:", extensions=()) as studio:
        assert studio.lorebooks.export(studio.lorebooks.create(name=name)).file_name == offered
