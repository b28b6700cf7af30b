"""An entry goes through the editor's form and comes back as it was, with nothing lost and nothing added."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from marginalia.lore.book import (
    Entry,
    EntryBudget,
    Insertion,
    Match,
    Pattern,
    RegexFilter,
    Scope,
    When,
    Where,
)
from marginalia.ui.entry_form import entry_from, fields_of, keys_of, problems_of
from marginalia.values import EntryId

FULL = Entry(
    id=EntryId(4), uid="u", name="Varro", payload="He rows.", enabled=False, ordinal=7, filter=RegexFilter("var+o"),
    insertion=Insertion.DEPTH, tags=("a",), negative_tags=("b",), note="mine", syntax="jinja", raw={"x": 1},
    match=Match(
        any=(Pattern(text="row", whole_word=True), Pattern(text="f?rry", kind="wildcard")),
        none=(Pattern(text="(land)", kind="regex", case=True),), not_all=(Pattern(text="sea"),),
    ),
    scope=Scope(request=False, parts=3, characters=900, memory=True, recursive=True, calls_others=False),
    when=When(chance=30.5, after=2, every=3, sticky=4, cooldown=5, groups=("g",), group_weight=9, group_scoring=True),
    where=Where(depth=2, role="assistant", slot="s"),
    budget=EntryBudget(priority=3, reserve=10, maximum=99, ignore=True),
)  # fmt: skip


def sent(entry: Entry) -> dict[str, Any]:
    """What the browser sends back when nothing was touched."""
    everyday, more = fields_of(entry)
    return {"values": {each["name"]: each["value"] for each in (*everyday, *more)}, "keys": keys_of(entry)}


def test_every_field_of_an_entry_survives_the_form() -> None:
    assert entry_from(sent(FULL), FULL) == (FULL, {})


def test_the_form_has_every_field_that_an_entry_has() -> None:
    blank = replace(Entry(), id=FULL.id, uid="u", raw=FULL.raw)
    made, errors = entry_from(sent(FULL), blank)
    assert (made, errors) == (FULL, {})


def test_no_two_fields_of_the_form_have_one_name() -> None:
    names = [each["name"] for part in fields_of(FULL) for each in part]
    assert len(names) == len(set(names))


def test_a_value_that_cannot_be_used_is_named_and_the_rest_is_taken() -> None:
    said = sent(FULL)
    said["values"]["when_chance"] = "often"
    said["values"]["payload"] = "New."
    made, errors = entry_from(said, FULL)
    assert errors == {"when_chance": "A number from 0 to 100."}
    assert (made.payload, made.when.chance) == ("New.", 30.5)


def test_what_the_browser_made_up_is_left_alone() -> None:
    keys = [
        {"role": "evil", "text": "x"},
        {"role": "any", "text": "  "},
        {"role": "any", "text": "y", "kind": "?"},
    ]
    made, _ = entry_from({"values": {"__class__": 1, "raw": {}}, "keys": keys}, FULL)
    assert made.match == Match(any=(Pattern(text="y"),))
    assert made.raw == {"x": 1}


def test_expressions_that_cannot_be_read_are_named_where_they_stand() -> None:
    broken = replace(
        Entry(),
        filter=RegexFilter("(a"),
        match=Match(any=(Pattern(text="ok"), Pattern(text="[", kind="regex"))),
    )
    found = problems_of(broken)
    assert "so it never matches" in found["filter"]
    assert list(found["keys"]) == ["1"]
    assert problems_of(FULL) == {"filter": "", "keys": {}}
