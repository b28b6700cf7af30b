"""Character cards: their lorebook with decorators, their fields, and the pictures and archives they come in."""

from __future__ import annotations

import base64
import json
import zlib

import pytest

from marginalia.errors import FormatError
from marginalia.formats import read_lore
from marginalia.formats.base import Fidelity
from marginalia.formats.decorators import FOREVER
from marginalia.lore.book import Insertion, Match, Pattern, TextFilter, Where
from tests.formats.helpers import (
    DATA,
    archive,
    archive_of,
    as_bytes,
    book,
    called,
    card_chunk,
    entries,
    lore,
    picture,
    written_back,
)


def test_the_fields_of_a_card_are_offered_for_a_book() -> None:
    fields = read_lore((DATA / "tavern.card-v3.json").read_bytes()).shelf.book_fields
    assert fields.name == "Ilse Marrow"
    assert fields.scenario.startswith("A morning")
    assert fields.first_message.startswith("The tide")
    assert len(fields.greetings) == 1


def test_a_card_without_a_lorebook_is_kept_in_an_empty_one() -> None:
    file = read_lore((DATA / "tavern.card-v1.json").read_bytes(), "ilse.json")
    assert file.names == ("Ilse Marrow",)
    assert file.shelf.rows == ()
    assert "no lorebook" in file.notes[0].remarks[0]


def test_settings_of_the_lorebook_are_taken() -> None:
    (volume,) = lore(book(scan_depth=4, token_budget=512, recursive_scanning=True)).shelf.volumes
    assert (volume.settings.scan_parts, volume.settings.token_budget, volume.settings.recursive) == (
        4,
        512,
        True,
    )


def test_no_decorator_reaches_the_model() -> None:
    content = "@@depth 2\n@@role assistant\n@@unheard of\n@@@also unknown\nText.\n@@not a decorator here"
    (entry,) = entries(book({"content": content}))
    assert entry.payload == "Text.\n@@not a decorator here"
    assert (entry.insertion, entry.where) == (Insertion.DEPTH, Where(depth=2, role="assistant"))
    note = lore(book({"content": content})).shelf.rows[0].note
    assert note is not None
    assert note.fidelity is Fidelity.NOT_UNDERSTOOD
    assert any("@@unheard of" in line for line in note.remarks)


def test_a_fallback_takes_the_place_of_a_decorator_that_is_not_known() -> None:
    (entry,) = entries(book({"content": "@@future 4\n@@@later 1\n@@@activate_only_after 3\nText."}))
    assert (entry.when.after, entry.payload) == (3, "Text.")


@pytest.mark.parametrize(
    ("line", "what", "value"),
    [
        ("@@activate", "when.always", True),
        ("@@dont_activate", "when.never", True),
        ("@@activate_only_every 2", "when.every", 2),
        ("@@keep_activate_after_match", "when.sticky", FOREVER),
        ("@@dont_activate_after_match", "when.cooldown", FOREVER),
        ("@@scan_depth 8", "scope.parts", 8),
        ("@@ignore_on_max_context", "budget.priority", -1000),
        ("@@priority 5", "budget.priority", 5),
        ("@@probability 40", "when.chance", 40.0),
        ("@@additional_keys a,b", "match.also", (Pattern(text="a"), Pattern(text="b"))),
        ("@@exclude_keys a", "match.none", (Pattern(text="a"),)),
        ("@@exclude_keys_all a,b", "match.not_all", (Pattern(text="a"), Pattern(text="b"))),
        ("@@unrecursive", "scope.calls_others", False),
        ("@@no_recursive_search", "scope.no_recursion", True),
        ("@@position pt_weather", "where.slot", "weather"),
    ],
)
def test_each_decorator_does_what_it_says(line: str, what: str, value: object) -> None:
    (entry,) = entries(book({"content": f"{line}\nText."}))
    group, _, field = what.partition(".")
    assert getattr(getattr(entry, group), field) == value


def test_decorators_without_sense_change_nothing() -> None:
    (plain,) = entries(book({"content": "Text."}))
    odd = (
        "@@depth soon\n@@role king\n@@scan_depth -1\n@@activate_only_every 0\n@@additional_keys ,\n@@\nText."
    )
    (entry,) = entries(book({"content": odd}))
    assert (entry.when, entry.match, entry.where, entry.scope) == (
        plain.when,
        plain.match,
        plain.where,
        plain.scope,
    )


def test_a_depth_beside_a_position_is_ignored() -> None:
    (entry,) = entries(book({"content": "@@depth 3\n@@position after_desc\nText."}))
    assert entry.insertion is Insertion.LORE_BLOCK


def test_use_regex_decides_for_all_keys() -> None:
    (off,) = entries(book({"keys": ["/bell/i"], "use_regex": False}))
    assert off.filter == TextFilter("/bell/i")
    (on,) = entries(book({"keys": ["bells?", "Ilse"], "use_regex": True}))
    assert on.match == Match(any=(Pattern(text="bells?", kind="regex"), Pattern(text="Ilse")))


def test_sillytavern_writes_use_regex_for_plain_keys_and_means_the_slashes() -> None:
    row = {
        "keys": ["St. Ilse", "/x/"],
        "use_regex": True,
        "extensions": {"selectiveLogic": 0, "display_index": 0},
    }
    (entry,) = entries(book(row))
    assert entry.match.any == (Pattern(text="St. Ilse"), Pattern(text="x", kind="regex", case=True))


def test_the_extensions_win_over_the_fields_beside_them() -> None:
    row = {
        "position": "before_char",
        "extensions": {"position": 4, "depth": 1, "case_sensitive": True},
        "case_sensitive": False,
    }
    (entry,) = entries(book(row))
    assert entry.insertion is Insertion.DEPTH
    assert entry.match.any == (Pattern(text="k", case=True),)


def test_secondary_keys_count_only_if_the_entry_says_selective() -> None:
    rows = book(
        {"keys": ["a"], "secondary_keys": ["b"], "name": "one"},
        {"keys": ["a"], "secondary_keys": ["b"], "selective": True, "name": "two"},
    )
    assert called(rows, "a") == ["one"]
    assert called(rows, "a b") == ["one", "two"]


def test_a_disabled_entry_and_an_always_on_one_stay_what_they_are() -> None:
    rows = book(
        {"enabled": False, "name": "off"},
        {"keys": [], "constant": True, "name": "on"},
        {"keys": [], "constant": False, "name": "never"},
    )
    assert called(rows, "k") == ["on"]


def test_a_picture_holds_a_card_and_the_newer_one_wins() -> None:
    old, new = book({"name": "old"}), book({"name": "new"})
    data = picture(card_chunk("chara", old), card_chunk("ccv3", new))
    assert [row.entry.name for row in read_lore(data, "ilse.png").shelf.rows if row.entry] == ["new"]
    assert json.loads(written_back(read_lore(data))) == new


@pytest.mark.parametrize("kind", [b"zTXt", b"iTXt"])
def test_texts_of_a_picture_may_be_packed(kind: bytes) -> None:
    text = base64.b64encode(as_bytes(book({"name": "packed"})))
    head = b"\0\0" if kind == b"zTXt" else b"\0\1\0\0\0"
    data = picture((kind, b"chara" + head + zlib.compress(text)))
    assert read_lore(data).shelf.rows[0].entry is not None


def test_a_novelai_lorebook_may_be_in_a_picture() -> None:
    raw = json.loads((DATA / "novelai.lorebook").read_bytes())
    assert read_lore(picture(card_chunk("naidata", raw))).codec.id == "novelai"


def test_a_broken_newer_card_gives_way_to_the_older_one_and_is_said() -> None:
    data = picture((b"tEXt", b"ccv3\0%%%"), card_chunk("chara", book({"name": "old"})))
    file = read_lore(data)
    assert file.shelf.rows[0].entry is not None
    assert any("newer card" in line for line in file.notes[0].remarks)


def test_an_archive_holds_a_card() -> None:
    data = archive(card_json=as_bytes(book({"name": "in"})), assets__icon_png=b"picture")
    assert read_lore(data, "ilse.charx").names == ("Ilse",)


def bomb() -> bytes:
    return archive_of({"card.json": b" " * (70 * 1024 * 1024)})


REFUSED = {
    "broken base64": (picture((b"tEXt", b"chara\0%%%")), "base64"),
    "no card in it": (picture((b"tEXt", b"Comment\0hello")), "without a card"),
    "a chunk larger than the picture": (picture() + b"\x7f\xff\xff\xfftEXt", "cut off"),
    "a text that unpacks to far too much": (
        picture((b"zTXt", b"chara\0\0" + zlib.compress(b"A" * (65 * 1024 * 1024)))),
        "unpacks to more",
    ),
    "an archive without a card": (archive(other_json=b"{}"), "without a card.json"),
    "a path that leads out": (archive_of({"card.json": b"{}", "../../evil.sh": b"x"}), "leads out of it"),
    "an absolute path": (archive_of({"card.json": b"{}", "/etc/evil": b"x"}), "leads out of it"),
    "a path with a drive": (archive_of({"card.json": b"{}", "C:evil": b"x"}), "leads out of it"),
    "an archive that was cut off": (archive(card_json=as_bytes(book()))[:60], "broken"),
    "a card that is no text": (archive(card_json=b"\xff\xfe\xff"), "no UTF-8"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_containers_that_are_broken_or_dangerous_are_refused(name: str) -> None:
    data, says = REFUSED[name]
    with pytest.raises(FormatError, match=says):
        read_lore(data, "card.bin")


def test_an_archive_that_unpacks_to_far_more_than_it_holds_is_refused() -> None:
    with pytest.raises(FormatError, match="far more than it holds"):
        read_lore(bomb(), "bomb.charx")
