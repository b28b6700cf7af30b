# ruff: noqa: RUF001 - letters of many scripts are what is tested
"""Keys: Unicode words, folding, wildcards, expressions, logic; and what is compiled when."""

from __future__ import annotations

import time
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marginalia.lore.activation import activate
from marginalia.lore.book import FilledLorebook, Lorebook, Match, Pattern, Scope
from marginalia.lore.collecting import in_order
from marginalia.lore.folding import Folded, fold, simple_fold
from marginalia.lore.matching import Matcher
from marginalia.lore.scan import Scan
from tests.lore.helpers import active, any_of, candidates, entry, key, text, verdict, verdicts


@pytest.mark.parametrize(
    ("words", "request_", "is_in"),
    [
        ("Varro", "Then Varro, late, came.", True),
        ("Varro", "(Varro)", True),
        ("Varro", "Varro's lamp", True),
        ("Varro", "Varro’s lamp", True),
        ("Varro", "—Varro", True),
        ("Varro", "“VARRO”", True),
        ("Varro", "Varros", False),
        ("seal", "the sea lion", False),
        ("art", "a heart", False),
        ("red cat", "a tired category", False),
        ("red cat", "the red\ncat", True),
        ("#hello", "say #hello!", True),
        ("#hello", "say #hellothere", False),
        ("foo", "foo_bar", False),
        ("кот", "который час", False),
        ("кот", "Чёрный КОТ.", True),
        ("gale", "égale", False),
        ("Žofie", "ŽOFIE čeká", True),
        ("猫", "黑猫", True),
        ("ヴァロ", "ヴァロは", True),
        ("Varro", "彼はVarroだ", True),
        ("민지", "민지는 갔다", True),
        ("แมว", "มีแมวอยู่", True),
        ("straße", "DIE STRASSE", True),
        ("strasse", "die Straße.", True),
        ("ﬁord", "a FIORD", True),
        ("d'Or", "la côte D’OR", True),
    ],
)
def test_whole_words_are_unicode_words(words: str, request_: str, *, is_in: bool) -> None:
    found = verdict(entry(match=any_of(words, whole_word=True)), request=request_)
    assert found.active is is_in


@pytest.mark.parametrize("words", ["Žofie", "дракон", "龙", "Ёж", "Z\u030cofie", "café", "한국"])
def test_a_key_is_found_composed_or_decomposed_in_either_case(words: str) -> None:
    for form in ("NFC", "NFD"):
        for written in (words, words.upper(), words.lower()):
            said = f"… {unicodedata.normalize(form, written)} …"
            (hit,) = verdict(entry(match=any_of(words, whole_word=True)), request=said).hits
            assert unicodedata.normalize("NFC", said[hit.start : hit.end]).casefold() == fold(words)


def test_a_short_key_inside_a_word_is_found_only_as_a_substring() -> None:
    assert verdict(entry(match=any_of("art")), request="a heart").active
    missed = verdict(entry(match=any_of("art", whole_word=True)), request="a heart")
    assert missed.reason == "*art* is only there inside a longer word, or with other capitals."
    assert missed.nearly


def test_a_key_can_ask_for_its_capitals() -> None:
    spy = entry(match=any_of("Red", case=True))
    assert not verdict(spy, request="a red door").active
    assert verdict(spy, request="a red door, and Red").active
    assert verdict(entry(match=any_of("Élan", case=True)), request="E\u0301lan vital").active
    assert not verdict(entry(match=any_of("Élan", case=True)), request="élan vital").active


@pytest.mark.parametrize(
    ("pattern", "request_", "is_in"),
    [
        (key("dragon*", kind="wildcard", whole_word=True), "two dragonflies", True),
        (key("dragon*", kind="wildcard", whole_word=True), "a bedragon", False),
        (key("dr?gon", kind="wildcard"), "a DRAGON", True),
        (key("dr?gon", kind="wildcard"), "a drgon", False),
        (key("a.b*", kind="wildcard"), "axb", False),
        (key("*", kind="wildcard"), "anything", True),
        (key("Dragon?", kind="wildcard", case=True), "dragons", False),
        (key("še?", kind="wildcard", whole_word=True), "ŠEŘ je tu", True),
        (key("bell", kind="regex"), "the BELL", True),
        (key("bell", kind="regex", case=True), "the BELL", False),
        (key("a{1,3}b", kind="regex"), "xaab", True),
        (key(r"a\/b", kind="regex"), "a/b", True),
        (key(",", kind="regex"), "a, b", True),
        (key(r"\d+ (?:ships|boats)", kind="regex"), "12 boats", True),
        (key(r"\w+š\b", kind="regex"), "kdo píš", True),
        (key(r"[^\W\d]+x", kind="regex"), "ěx", True),
        (key("x{e<=1}", kind="regex"), "y", False),
        (key("{{user}}", kind="regex"), "{{user}}", True),
    ],
)
def test_wildcards_and_expressions(pattern: Pattern, request_: str, *, is_in: bool) -> None:
    assert verdict(entry(match=Match(any=(pattern,))), request=request_).active is is_in


A, B, C = key("ash"), key("bell"), key("crow")


@pytest.mark.parametrize(
    ("match", "request_", "is_in"),
    [
        (Match(any=(A, B)), "bell", True),
        (Match(any=(A, B)), "crow", False),
        (Match(any=(A,), also=(B, C)), "ash crow", True),
        (Match(any=(A,), also=(B, C)), "ash", False),
        (Match(any=(A,), also=(B, C)), "bell crow", False),
        (Match(all=(A, B)), "ash bell", True),
        (Match(all=(A, B)), "ash", False),
        (Match(any=(A,), none=(B,)), "ash", True),
        (Match(any=(A,), none=(B,)), "ash bell", False),
        (Match(any=(A,), not_all=(B, C)), "ash bell", True),
        (Match(any=(A,), not_all=(B, C)), "ash bell crow", False),
        (Match(none=(A,)), "", True),
        (Match(none=(A,)), "ash", False),
        (Match(not_all=(A,)), "ash", False),
        (Match(any=(key(" "),)), "whatever", True),
    ],
)
def test_the_logic_of_keys(match: Match, request_: str, *, is_in: bool) -> None:
    assert verdict(entry(match=match), request=request_).active is is_in


def test_filter_and_keys_must_both_hold() -> None:
    both = entry(filter=text("ferry"), match=any_of("ash"))
    assert [verdict(both, request=said).active for said in ("ferry ash", "ferry", "ash")] == [
        True,
        False,
        False,
    ]


def test_overlapping_keys_are_all_found() -> None:
    some = [
        entry(word, match=any_of(word))
        for word in ("lighthouse", "light", "house", "thou", "lighthouse keeper")
    ]
    assert len(active(verdicts(*some, request="the lighthouse keeper"))) == len(some)


def test_the_same_key_in_many_entries_calls_them_all() -> None:
    same = [entry(f"e{number}", match=any_of("ash", whole_word=number % 2 > 0)) for number in range(6)]
    assert active(verdicts(*same, request="ashes")) == ["e0", "e2", "e4"]


def test_a_matcher_is_made_once_for_the_same_candidates() -> None:
    given = candidates(entry(match=any_of("ash")))
    assert Matcher.of(given) is Matcher.of(given)


def test_after_an_edit_only_what_is_new_is_compiled_and_the_rest_still_found() -> None:
    lorebook = Lorebook(name="Harbour")
    entries = tuple(entry(f"e{number}", match=any_of(f"word{number}")) for number in range(50))
    before = Matcher.of(in_order((FilledLorebook(lorebook=lorebook, entries=entries),)))
    edited = (replace(entries[0], match=any_of("ash")), *entries[1:])
    given = in_order((FilledLorebook(lorebook=lorebook, entries=edited),))
    after = Matcher.of(given)
    assert after.stock.base is before.stock.base
    assert active(activate(given, Scan(request="ash word0 word7"))) == ["e0", "e7"]
    again = in_order((FilledLorebook(lorebook=lorebook, entries=entries),))
    assert active(activate(again, Scan(request="ash word0 word7"))) == ["e0", "e7"]


def test_folding_character_by_character_keeps_every_place() -> None:
    for code in (
        *range(0x20, 0x3000),
        *range(0xA640, 0xABC0),
        *range(0xFB00, 0xFFFE),
        *range(0x10400, 0x10500),
    ):
        character = chr(code)
        assert len(simple_fold(character)) == 1
        if len(character.upper()) == 1 and len(character.upper().lower()) == 1:
            assert simple_fold(character) == simple_fold(character.upper())


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("eine STRAẞE weit", "strasse"),
        ("ß straße ende", "ende"),
        ("ﬃ ŉ ǰ ende", "ende"),
        ("Z\u030co Z\u030cofie ende", "ende"),
        ("e\u0301e\u0301 ß e\u0301t", "ét"),
        ("\u1112\u1161\u11ab 한 ende", "ende"),
    ],
)
def test_a_place_in_the_folded_text_leads_back_to_the_text(said: str, word: str) -> None:
    folded = Folded(said)
    start = folded.folded.index(fold(word))
    first, last = folded.back(start, start + len(fold(word)))
    assert fold(said[first:last]) == fold(word)


def test_a_place_inside_a_letter_that_grew_leads_back_to_the_whole_letter() -> None:
    folded = Folded("aßb")
    assert folded.folded == "assb"
    assert [folded.back(at, at + 1) for at in range(4)] == [(0, 1), (1, 2), (1, 2), (2, 3)]


def test_the_last_of_very_many_places_is_found_by_who_looks_only_so_far_back() -> None:
    story = ("the bell " * 60 + "x" * 200 + " bell",)
    near = entry(match=any_of("bell"), scope=Scope(request=False, characters=10))
    found = verdict(near, story=story)
    assert found.active
    assert [story[0][hit.start : hit.end] for hit in found.hits] == ["bell"]
    assert found.hits[0].start == story[0].rindex("bell")
    everywhere = verdict(entry(match=any_of("bell")), request=story[0])
    assert everywhere.reason == "*bell* is in the request 61 times."
    assert len(everywhere.hits) == 16


@pytest.mark.parametrize("longest", [64, 2_000])
@pytest.mark.parametrize("fields", [{}, {"case": True, "whole_word": True}])
def test_keys_that_are_in_each_other_over_and_over_cost_bounded_work(
    longest: int, fields: dict[str, bool]
) -> None:
    said = "e" * 8_000
    made = candidates(
        *(entry(f"e{at}", match=any_of("e" * (1 + at % longest), **fields)) for at in range(2_000))
    )
    matcher = Matcher.of(made)
    began = time.process_time()
    reading = matcher.read(said)
    assert time.process_time() - began < 4
    assert all(len(places) <= 16 for places in reading.found.values())
    assert len(active(activate(made, Scan(request=said)))) == (0 if fields else 2_000)


@pytest.mark.parametrize("size", [10, 64, 65, 300])
@given(said=st.text("ab", min_size=1, max_size=40), cut=st.integers(0, 30))
@settings(max_examples=20, deadline=None)
def test_keys_of_any_length_are_found_wherever_windows_meet(size: int, said: str, cut: int) -> None:
    wanted = (said * size)[:size]
    text_ = "-" * (1_024 - cut) + wanted + "-" * 1_100
    found = verdict(entry(match=any_of(wanted)), request=text_)
    assert found.active
    assert found.hits[0].start == 1_024 - cut
    assert not verdict(entry(match=any_of(wanted + "c")), request=text_).active
