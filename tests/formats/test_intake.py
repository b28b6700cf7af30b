"""What a file is, is told by its content; what cannot be read is refused in a sentence that helps."""

from __future__ import annotations

import json
from random import Random
from time import process_time
from typing import TYPE_CHECKING

import pytest

from marginalia.errors import FormatError
from marginalia.formats import read_lore
from marginalia.formats.intake import DEEPEST, stem
from marginalia.formats.stories import read_stories
from tests.formats.helpers import FILES, as_bytes, lore, world, written_back
from tests.formats.mutations import mutated

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b" \n ", "empty"),
        (b"no json", "no JSON file"),
        (b"[1, 2]", "a list without lore"),
        (b"[]", "an empty list"),
        (b"{}", "it has nothing at its top"),
        (b'{"format": "something else"}', "'something else'"),
        (b'{"entities": [], "relations": []}', "entities, relations"),
        (b'{"entries": [{"id": 1, "relations": []}]}', "neither keys nor a content"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"%PDF-1.7", "PDF"),
        (b"\xff\xd8\xff\xe0", "JPEG"),
        (b'{"a": "\xff"}', "byte 7 is no UTF-8"),
        (b"[" * 5000 + b"]" * 5000, "nested deeper"),
        (b'{"entries": ' + b'{"a": ' * 2000 + b"1" + b"}" * 2001, "nested deeper"),
    ],
)
def test_what_is_no_lore_is_refused_with_what_it_is(data: bytes, says: str) -> None:
    with pytest.raises(FormatError, match=r"'notes\.json'") as caught:
        read_lore(data, "notes.json")
    assert says in str(caught.value)


def test_a_broken_file_is_refused_with_line_column_and_what_it_looks_like() -> None:
    text = json.dumps(world({"key": ["a"], "keysecondary": [], "content": "c"}), indent=1)
    with pytest.raises(FormatError) as caught:
        read_lore(text.replace('"content": "c"', '"content": "c" oops').encode(), "world.json")
    assert str(caught.value).startswith("'world.json' is broken at line 9, column ")
    assert "SillyTavern world info" in str(caught.value)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_files_of_other_encodings_are_read(encoding: str) -> None:
    text = json.dumps(world({"key": ["Žofie"], "content": "Žofie"}), ensure_ascii=False)
    assert read_lore(text.encode(encoding)).names == ("World info",)


def test_a_name_of_the_file_says_nothing_about_what_it_is() -> None:
    assert read_lore(as_bytes({"kind": "memory", "entries": []}), "card.png").codec.id == "agnai"


def test_a_wanted_format_is_the_only_one_that_is_taken() -> None:
    with pytest.raises(FormatError, match="is no Marginalia lorebook"):
        lore({"entries": {}}, format="marginalia")


@pytest.mark.parametrize(
    ("file", "name"),
    [("Delta.JSON", "Delta"), ("a/b\\c.lorebook", "c"), ("x", "x"), (".json", ""), ("v1.2.json", "v1.2")],
)
def test_the_file_gives_its_name_without_folders_and_ending(file: str, name: str) -> None:
    assert stem(file) == name


def test_nesting_that_people_use_is_read() -> None:
    inside: object = 1
    for _ in range(DEEPEST - 5):
        inside = [inside]
    file = lore(world({"key": ["a"], "content": "c", "extra": inside}))
    assert json.loads(written_back(file))["entries"]["0"]["extra"] == inside


def refusal(read: Callable[[bytes, str], object], data: bytes) -> str:
    """Why a file is refused; empty when it is read. Any other error is a fault of ours."""
    try:
        read(data, "harmed")
    except FormatError as refused:
        return str(refused)
    return ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_harmed_file_is_read_or_refused_in_a_sentence_and_never_takes_long(path: Path) -> None:
    data = path.read_bytes()
    for number in range(40):
        harmed = mutated(data, Random(f"{path.name} {number}"))
        began = process_time()
        for read in (lambda data, file: written_back(read_lore(data, file)), read_stories):
            said = refusal(read, harmed)
            assert not said or (said.startswith(("'harmed'", "The card in")) and said.endswith("."))
        assert process_time() - began < 1
