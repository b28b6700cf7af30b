"""Lore lint: each rule finds what it is for, and nothing in an ordinary lorebook."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

import marginalia as mg
from marginalia.extensions.api import Table
from marginalia.extensions.lint import Finding, Setting, lint
from marginalia.extensions.lore_lint import LoreLint
from marginalia.lore.book import (
    Entry,
    EntryBudget,
    FilledLorebook,
    Insertion,
    Lorebook,
    LoreSettings,
    Match,
    Pattern,
    RegexFilter,
    Scope,
    TextFilter,
    When,
)
from marginalia.lore.collecting import in_order
from tests.extensions.helpers import TURN, studio_with


def count(text: str) -> int:
    return len(text.split())


def findings(*entries: Entry, settings: LoreSettings | None = None, **setting: Any) -> list[Finding]:
    book = Lorebook(name="World", settings=settings or LoreSettings())
    candidates = in_order((FilledLorebook(lorebook=book, entries=entries),))
    return list(lint(candidates, Setting(count=count, **setting)))


def entry(name: str = "Varro", **fields: Any) -> Entry:
    fields.setdefault("payload", "A smith.")
    return Entry(name=name, **fields)


def key(text: str, **fields: Any) -> Match:
    return Match(any=(Pattern(text=text, **fields),))


@pytest.mark.parametrize(
    ("rule", "fields"),
    [
        ("short key", {"filter": TextFilter("ab")}),
        ("short key", {"match": key("Mo")}),
        ("common key", {"match": key("there")}),
        ("common key", {"filter": TextFilter("Her")}),
        ("slow expression", {"filter": RegexFilter(r"(a+)+\1b")}),
        ("slow expression", {"match": key(r"(?<=the )bell(?=s)", kind="regex")}),
        ("never", {"filter": RegexFilter("(unclosed")}),
        ("never", {"when": When(never=True)}),
        ("never", {"when": When(chance=0)}),
        ("never", {"payload": "  "}),
        ("never", {"tags": ("winter",)}),
        ("never", {"tags": ("snow",), "negative_tags": ("Snow",)}),
        ("never", {"match": Match(all=(Pattern(text="ash"),), none=(Pattern(text="Ash"),))}),
        ("never", {"scope": Scope(only_recursive=True)}),
        ("never", {"match": key("bell"), "scope": Scope(request=False)}),
        ("never", {"insertion": Insertion.SLOT}),
        ("too large", {"budget": EntryBudget(maximum=1)}),
    ],
)
def test_each_rule_finds_what_it_is_for(rule: str, fields: dict[str, Any]) -> None:
    found = findings(entry(**fields), tags=frozenset({"snow"}))
    assert [each.rule for each in found] == [rule]
    assert found[0].text[-1] == "."


@pytest.mark.parametrize(
    "fields",
    [
        {"filter": TextFilter("varro")},
        {"match": key("Mo", whole_word=True)},
        {"match": key("雪")},
        {"match": key(r"bell(s|tower)?", kind="regex")},
        {"match": key("bell*", kind="wildcard")},
        {"tags": ("SNOW",)},
        {"filter": RegexFilter("(unclosed"), "when": When(always=True)},
        {"filter": TextFilter("ab"), "enabled": False},
        {"budget": EntryBudget(maximum=2)},
        {"filter": TextFilter("  ")},
    ],
)
def test_what_is_in_order_is_left_alone(fields: dict[str, Any]) -> None:
    assert findings(entry(**fields), tags=frozenset({"snow"})) == []


def test_limits_of_the_lorebook_and_of_all_lore_count_too() -> None:
    long = entry(payload="one two three four")
    assert "its lorebook may have 3" in findings(long, settings=LoreSettings(token_budget=3))[0].text
    assert "all lore may have 2" in findings(long, budget=2)[0].text
    assert findings(replace(long, budget=EntryBudget(ignore=True)), budget=2) == []


def test_a_key_inside_the_key_of_another_entry_is_pointed_out_once() -> None:
    found = findings(
        entry("Ash", match=key("ash")),
        entry("Ashford", match=key("Ashford")),
        entry("Washing", filter=TextFilter("washing")),
        entry("Whole", match=key("ford", whole_word=True)),
    )
    assert [(each.entry.name, each.rule) for each in found] == [("Ash", "key inside a key")] * 1
    assert "*ash* is inside *ashford* of 'Ashford'" in found[0].text


def test_a_key_that_is_in_nearly_every_part_is_common() -> None:
    story = ["The lighthouse stood."] * 9 + ["Snow fell."]
    assert [each.rule for each in findings(entry(match=key("lighthouse")), story=story)] == ["common key"]
    assert findings(entry(match=key("lighthouse")), story=story[:5]) == []


def test_ten_thousand_entries_are_looked_at_in_seconds() -> None:
    many = [
        entry(f"Entry {number}", match=Match(any=tuple(Pattern(text=f"word{number}x{n}") for n in range(3))))
        for number in range(10_000)
    ]
    began = time.perf_counter()
    assert findings(*many, story=["Snow fell."] * 100) == []
    assert time.perf_counter() - began < 8


async def test_the_panel_shows_findings_with_their_entries() -> None:
    studio, book = studio_with(LoreLint())
    with studio:
        panel = studio.extensions.panels[0]
        assert await studio.extensions.shown(panel, studio, book, None) == "Nothing to point out."
        world = studio.lorebooks.create(name="World")
        studio.lorebooks.add_entry(world, name="Mo", payload="A cat.", filter=mg.TextFilter("mo"))
        book = studio.books.save(replace(book, lorebook_id=world.id))
        shown = await studio.extensions.shown(panel, studio, book, await studio.preview(book, TURN))
        assert isinstance(shown, Table)
        assert [row[:2] for row in shown.rows] == [("Mo", "short key")]
        studio.lorebooks.delete(world)
        assert await studio.extensions.shown(panel, studio, book, None) == "Nothing to point out."
