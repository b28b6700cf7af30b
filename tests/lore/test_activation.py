"""The specification's rules: enabled, negative tags, tags, filter against the rendered request."""

from __future__ import annotations

from dataclasses import replace

import pytest

from marginalia.lore.activation import activate
from marginalia.lore.book import Entry, Filter
from marginalia.lore.scan import Scan
from tests.lore.helpers import active, any_of, candidates, entry, expression, text, verdict, verdicts


def test_entries_without_tags_and_filter_are_always_in() -> None:
    assert active(verdicts(entry("salt"), entry("mule"), request="Go on.")) == ["salt", "mule"]


def test_there_is_a_verdict_for_every_candidate_in_their_order() -> None:
    found = verdicts(entry("off", enabled=False), entry("on"), entry("later", ordinal=200, filter=text("x")))
    assert [each.entry.name for each in found] == ["off", "on", "later"]
    assert [each.active for each in found] == [False, True, False]
    assert {each.lorebook for each in found} == {"World"}


def test_a_disabled_entry_is_out() -> None:
    found = verdict(entry(enabled=False))
    assert not found.active
    assert found.reason == "It is switched off."


def test_an_entry_with_a_blank_payload_counts_as_active() -> None:
    found = verdict(entry(payload=" \n "), count=len)
    assert found.active
    assert found.tokens == 0


@pytest.mark.parametrize(
    ("tags", "negative", "book", "is_in"),
    [
        (("arid",), (), ("arid",), True),
        (("arid",), (), ("polar",), False),
        (("arid",), (), (), False),
        (("Arid",), (), ("arid",), False),
        (("arid", "polar"), (), ("polar",), True),
        ((), ("famine",), ("famine",), False),
        ((), ("famine",), ("feast",), True),
        (("arid",), ("satire",), ("arid", "satire"), False),
    ],
)
def test_tags_of_the_book_let_in_and_keep_out(
    tags: tuple[str, ...], negative: tuple[str, ...], book: tuple[str, ...], *, is_in: bool
) -> None:
    assert verdict(entry(tags=tags, negative_tags=negative), tags=book).active is is_in


def test_a_lorebooks_tag_is_an_alternative_to_the_entrys_own() -> None:
    tagged = candidates(entry("rite", tags=("ritual",)), tags=("occult",))
    assert active(activate(tagged, Scan(tags=("ritual",)))) == ["rite"]
    assert active(activate(tagged, Scan(tags=("occult",)))) == ["rite"]
    assert active(activate(tagged, Scan(tags=("other",)))) == []


@pytest.mark.parametrize(
    ("filter_", "request_", "is_in"),
    [
        (text("Ferry"), "The FERRYMAN waits.", True),
        (text("Ferry"), "The barge waits.", False),
        (text("écrin"), "an ÉCRIN of pearls", True),
        (text(" ox "), "an ox pulls", True),
        (text(" ox "), "the oxen pull", False),
        (text("  "), "anything", True),
        (text("straße"), "STRASSE", False),
        (text("strasse"), "die Straße", False),
        (text("STRAßE"), "straße", True),
        (text("οδυσσευσ"), "ΟΔΥΣΣΕΥΣ", True),
        (text("οδυσσεύς"), "Οδυσσεύσ", True),
        (text("izmir"), "İZMİR", True),
        (text("kelvin"), "\u212aelvin", True),
        (text("a.c"), "abc", False),
        (text("gate\nkey"), "GATE\nKEY", True),
        (expression(r"\b(duke|duchess)\b"), "Enter the DUCHESS.", True),
        (expression(r"\b(duke|duchess)\b"), "Enter the dukes.", False),
        (expression(r"gate.*key"), "the gate\nis shut\nno key", True),
        (expression(r"^walk"), "Walk on.", True),
        (expression(r"^walk"), "Go.\nWalk on.", False),
        (expression(r"on\.$"), "Go on.\nStay.", False),
        (expression(r"on\.$"), "Go on.", True),
        (expression(r"on\.$"), "Go on.\n", True),
        (expression(r"écrin|perle"), "un ÉCRIN", True),
        (expression(r"\bé\w+n\b"), "un ÉCRIN de", True),
        (expression(r"\bcrin\b"), "un écrin", False),
        (expression(r"(\w+) \1"), "the the end", True),
        (expression(r"(?<=old )gate"), "the OLD GATE", True),
        (expression(r"(?!x)duke"), "a duke", True),
        (expression(r"\Qa.b\E+"), "A.BBB", True),
        (expression(r"\Qa.b\E"), "axb", False),
        (expression(r"end\z"), "the END", True),
        (expression(r"\x{e9}crin"), "ÉCRIN", True),
        (expression(" "), "nothing", True),
        (expression("a*"), "zzz", True),
    ],
)
def test_a_filter_is_found_in_the_request(filter_: Filter, request_: str, *, is_in: bool) -> None:
    assert verdict(entry(filter=filter_), request=request_).active is is_in


@pytest.mark.parametrize(
    "pattern", ["(*open", "a)(b", "[", "*a", "a**", "(?<name", "\\", "x" * 2_001, r"\L<a>"]
)
def test_an_invalid_expression_never_matches_and_says_so(pattern: str) -> None:
    bad, good = verdicts(
        entry("bad", filter=expression(pattern)), entry("good"), request=f"{pattern} a a)(b ["
    )
    assert (bad.active, good.active) == (False, True)
    assert bad.reason.startswith("The expression *")
    assert "cannot be read" in bad.reason or "longer than 2,000 characters" in bad.reason


def test_filter_and_tags_must_both_hold() -> None:
    both = entry(filter=text("ferry"), tags=("river",))
    assert verdict(both, request="a ferry", tags=("river",)).active
    assert not verdict(both, request="a boat", tags=("river",)).active
    assert not verdict(both, request="a ferry").active


def test_the_filter_does_not_see_payloads_of_other_entries() -> None:
    about = entry("about", payload="The abbey is old.", ordinal=1)
    assert active(verdicts(about, entry("abbey", filter=text("abbey")), request="Walk.")) == ["about"]


def test_all_gates_are_looked_at_after_the_first_that_failed() -> None:
    every = entry(enabled=False, negative_tags=("grim",), tags=("river",), filter=text("ferry"))
    found = verdict(every, tags=("grim",), request="a boat")
    assert [(gate.name, gate.passed) for gate in found.gates] == [
        ("enabled", False),
        ("negative tags", False),
        ("tags", False),
        ("filter", False),
    ]
    assert found.reason == (
        "It is switched off; the book has *grim*, which keeps it out; the book does not have the tag *river*; "
        "*ferry* is not in the request."
    )


def test_an_active_verdict_says_what_called_it_and_where() -> None:
    found = verdict(entry(filter=text("Ferry")), request="A ferry, the FERRY.")
    assert found.reason == "*Ferry* is in the request."
    assert [(hit.source, hit.start, hit.end) for hit in found.hits] == [
        ("request", 2, 7),
        ("request", 13, 18),
    ]


def test_an_expressions_place_is_found_when_somebody_asks() -> None:
    (hit,) = verdict(entry(filter=expression(r"fer+y")), request="the ferrry").hits
    assert (hit.key, hit.start, hit.end) == ("fer+y", 4, 10)


def test_entries_that_a_listener_changed_are_decided_as_they_are_now() -> None:
    before = candidates(entry("a"), entry("b", filter=text("x")), entry("c"))
    assert active(activate(before, Scan(request="go"))) == ["a", "c"]
    changed = tuple(
        replace(each, entry=replace(each.entry, enabled=each.entry.name != "a")) for each in before
    )
    after = tuple(
        replace(each, entry=replace(each.entry, filter=text("go"))) if each.entry.name == "b" else each
        for each in changed
    )
    assert active(activate(after, Scan(request="go"))) == ["b", "c"]
    assert active(activate(before, Scan(request="go"))) == ["a", "c"]


def test_equal_scans_give_equal_verdicts() -> None:
    some = (entry("a", filter=text("go")), entry("b", match=any_of("stop")), entry("c", enabled=False))
    assert verdicts(*some, request="go on") == verdicts(*some, request="go on")
    assert verdicts(*some, request="go on") != verdicts(*some, request="stop")


def test_a_text_with_lone_surrogates_is_scanned_all_the_same() -> None:
    found = verdicts(
        entry("a", filter=text("go")), entry("b", filter=expression("go")), request="\ud800 go \udfff"
    )
    assert active(found) == ["a", "b"]
    assert active(verdicts(entry("c", filter=text("\ud800")), entry("d", filter=expression("\ud800")))) == []


def test_a_list_of_candidates_is_as_good_as_a_tuple() -> None:
    given = candidates(entry("a"), entry("b", filter=text("go")))
    assert activate(list(given), Scan(request="go")) == activate(given, Scan(request="go"))
    assert activate([], Scan()) == ()


def test_an_entry_without_name_id_and_uid_is_decided_too() -> None:
    assert activate(candidates(Entry()), Scan())[0].active
