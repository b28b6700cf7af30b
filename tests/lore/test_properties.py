# ruff: noqa: RUF001 - letters of many scripts are what is tested
"""What holds for any entries and any turn."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from marginalia.lore.activation import activate
from marginalia.lore.book import (
    Entry,
    EntryBudget,
    FilledLorebook,
    Lorebook,
    LoreSettings,
    Match,
    Pattern,
    RegexFilter,
    Scope,
    TextFilter,
    When,
)
from marginalia.lore.collecting import Candidate, collect, in_order
from marginalia.lore.folding import fold
from marginalia.lore.scan import Scan
from marginalia.lore.timing import Timing
from marginalia.values import EntryId, LorebookId
from tests.lore.helpers import words

if TYPE_CHECKING:
    from collections.abc import Sequence

_few = settings(max_examples=40, deadline=None)
_WORDS = ["ash", "bell", "crow", "Žofie", "die Straße", "猫", "d’or"]
_EXPRESSIONS = [r"\bash\b", "b.ll", "(*bad", "(?=a)"]
_word = st.sampled_from(_WORDS)
_tags = st.lists(st.sampled_from(["arid", "polar", "grim"]), max_size=2, unique=True).map(tuple)
_said = st.lists(st.one_of(_word, st.sampled_from(["ashes", "BELL", "and", "\n"])), max_size=8).map(" ".join)
_pattern = st.builds(
    Pattern,
    text=_word,
    case=st.booleans(),
    whole_word=st.booleans(),
    kind=st.sampled_from(["plain", "wildcard", "regex"]),
)
_patterns = st.lists(_pattern, max_size=2).map(tuple)
_filter = st.one_of(
    st.none(), st.builds(TextFilter, _word), st.builds(RegexFilter, st.sampled_from(_EXPRESSIONS))
)
_scope = st.builds(
    Scope,
    request=st.booleans(),
    parts=st.integers(0, 3),
    characters=st.sampled_from([0, 0, 10, 40]),
    memory=st.booleans(),
    recursive=st.booleans(),
    calls_others=st.booleans(),
    only_recursive=st.sampled_from([False, False, True]),
    no_recursion=st.sampled_from([False, False, True]),
    recursion_level=st.sampled_from([0, 0, 1, 3]),
)
_when = st.builds(
    When,
    always=st.booleans(),
    chance=st.sampled_from([100.0, 100.0, 50.0, 0.0]),
    after=st.sampled_from([0, 0, 2]),
    every=st.sampled_from([0, 0, 2]),
    sticky=st.sampled_from([0, 0, 2]),
    cooldown=st.sampled_from([0, 0, 2]),
    groups=st.sampled_from([(), (), ("g",), ("g", "h")]),
    group_priority=st.booleans(),
    group_scoring=st.booleans(),
)
_budget = st.builds(
    EntryBudget,
    priority=st.integers(-2, 2),
    reserve=st.sampled_from([0, 0, 3]),
    maximum=st.sampled_from([0, 0, 6]),
)
_entry = st.builds(
    Entry,
    payload=st.lists(st.one_of(_word, st.just("word")), max_size=9).map(" ".join),
    enabled=st.sampled_from([True, True, False]),
    filter=_filter,
    tags=_tags,
    negative_tags=_tags,
    match=st.builds(Match, any=_patterns, also=_patterns, all=_patterns, none=_patterns, not_all=_patterns),
    scope=st.one_of(st.just(Scope()), _scope),
    when=st.one_of(st.just(When()), _when),
    budget=_budget,
)
_scan = st.builds(
    Scan,
    request=_said,
    tags=_tags,
    story=st.lists(_said, max_size=4).map(tuple),
    memory=st.lists(_said, max_size=1).map(tuple),
    parts=st.integers(0, 6),
    timing=st.builds(
        Timing, called=st.dictionaries(st.sampled_from(["e0", "e1"]), st.integers(0, 6), max_size=2)
    ),
    seed=st.integers(0, 5),
    count=st.just(words),
    budget=st.sampled_from([0, 0, 5, 20]),
    patience=st.just(60.0),
)


@st.composite
def _candidates(
    draw: st.DrawFn, entries: st.SearchStrategy[Entry] = _entry, most: int = 7
) -> tuple[Candidate, ...]:
    made = draw(st.lists(entries, max_size=most))
    named = [replace(each, id=EntryId(at + 1), uid=f"e{at}", name=f"e{at}") for at, each in enumerate(made)]
    book = Lorebook(name="World", settings=LoreSettings(token_budget=draw(st.sampled_from([0, 0, 12]))))
    return in_order((FilledLorebook(lorebook=book, entries=tuple(named)),))


def states(candidates: Sequence[Candidate], scan: Scan) -> dict[str, bool]:
    return {each.entry.name: each.active for each in activate(candidates, scan)}


@_few
@given(candidates=_candidates(), scan=_scan)
def test_the_same_input_gives_the_same_verdicts(candidates: tuple[Candidate, ...], scan: Scan) -> None:
    first = activate(candidates, scan)
    assert [each.entry for each in first] == [each.entry for each in candidates]
    assert activate(candidates, scan) == first
    assert activate(list(candidates), scan) == first


@_few
@given(candidates=_candidates(), scan=_scan)
def test_an_entry_is_in_exactly_when_all_of_its_gates_hold(
    candidates: tuple[Candidate, ...], scan: Scan
) -> None:
    for each in activate(candidates, scan):
        assert all(gate.passed for gate in each.gates) is each.active, each.gates
        assert re.fullmatch(r"\S.*\.", each.reason, re.DOTALL)
        assert not (each.nearly and each.active)


@_few
@given(candidates=_candidates(), scan=_scan)
def test_the_tokens_of_lore_never_exceed_the_budgets(candidates: tuple[Candidate, ...], scan: Scan) -> None:
    used = sum(each.tokens for each in activate(candidates, scan) if each.active)
    limits = [scan.budget, *(each.lorebook.settings.token_budget for each in candidates)]
    assert all(used <= limit for limit in limits if limit)


@_few
@given(candidates=_candidates(), scan=_scan)
def test_every_hit_is_where_it_says(candidates: tuple[Candidate, ...], scan: Scan) -> None:
    texts = {"request": scan.request} | {f"memory {at + 1}": text for at, text in enumerate(scan.memory)}
    texts |= {f"part {scan.parts - at}": text for at, text in enumerate(scan.story) if scan.parts > at}
    texts |= {f"lore: {each.entry.name}": each.entry.payload for each in candidates}
    for verdict in activate(candidates, scan):
        for hit in verdict.hits:
            if hit.source in texts:
                found = texts[hit.source][hit.start : hit.end]
                assert fold(found) == fold(hit.key) or hit.key in _EXPRESSIONS
                assert found or hit.key in _EXPRESSIONS


_alone = _entry.map(
    lambda each: replace(
        each, when=replace(each.when, groups=()), scope=Scope(parts=each.scope.parts), budget=EntryBudget()
    )
)


@_few
@given(candidates=_candidates(_alone), scan=_scan, order=st.randoms(use_true_random=False))
def test_verdicts_do_not_depend_on_the_order_of_unrelated_entries(
    candidates: tuple[Candidate, ...], scan: Scan, order: object
) -> None:
    shuffled = list(candidates)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    unlimited = replace(scan, budget=0)
    free = [replace(each, lorebook=Lorebook()) for each in shuffled]
    assert states(free, unlimited) == states(
        [replace(each, lorebook=Lorebook()) for each in candidates], unlimited
    )


_simple = st.builds(
    Entry,
    payload=st.just("word"),
    enabled=st.booleans(),
    tags=st.sampled_from([(), ("arid",), ("arid", "polar")]),
    negative_tags=st.sampled_from([(), ("grim",)]),
    filter=st.one_of(st.none(), st.builds(TextFilter, _word)),
    match=st.builds(Match, any=st.lists(st.builds(Pattern, text=_word), max_size=2).map(tuple)),
)


@_few
@given(candidates=_candidates(_simple, 1), request_=_said, tags=_tags)
def test_making_the_changes_that_the_reason_names_brings_the_entry_in(
    candidates: tuple[Candidate, ...], request_: str, tags: tuple[str, ...]
) -> None:
    for candidate in candidates:
        (verdict,) = activate(candidates, Scan(request=request_, tags=tags))
        if verdict.active:
            continue
        changed, book, said = candidate.entry, set(tags), request_
        for clause in verdict.reason.lower().removesuffix(".").split("; "):
            named = re.findall(r"\*(.+?)\*", clause)
            if "switched off" in clause:
                changed = replace(changed, enabled=True)
            elif "keeps it out" in clause:
                book -= set(named)
            elif "does not have" in clause:
                book.add(named[0])
            else:
                said += f" {named[0]} "
        again = (replace(candidate, entry=changed),)
        assert activate(again, Scan(request=said, tags=tuple(book)))[0].active, verdict.reason


@_few
@given(
    sizes=st.lists(
        st.tuples(st.integers(1, 30), st.integers(-2, 2), st.sampled_from([0, 0, 5])), min_size=1, max_size=8
    ),
    budget=st.integers(1, 60),
)
def test_the_budget_that_a_cut_names_would_have_been_enough(
    sizes: list[tuple[int, int, int]], budget: int
) -> None:
    entries = tuple(
        Entry(
            id=EntryId(at + 1),
            uid=f"e{at}",
            name=f"e{at}",
            payload="w " * tokens,
            filter=TextFilter("go"),
            budget=EntryBudget(priority=priority, reserve=reserve),
        )
        for at, (tokens, priority, reserve) in enumerate(sizes)
    )
    candidates = in_order((FilledLorebook(lorebook=Lorebook(), entries=entries),))
    for at, verdict in enumerate(activate(candidates, Scan(request="go", budget=budget, count=words))):
        if not verdict.active:
            enough = int(re.findall(r"with (\d+) in all", verdict.reason)[0])
            assert enough > budget
            assert activate(candidates, Scan(request="go", budget=enough, count=words))[at].active


@_few
@given(edges=st.dictionaries(st.integers(1, 6), st.lists(st.integers(1, 6), max_size=4), max_size=6))
def test_collecting_ends_whatever_leads_where(edges: dict[int, list[int]]) -> None:
    shelf = {
        LorebookId(at): FilledLorebook(
            lorebook=Lorebook(id=LorebookId(at), subbooks=tuple(map(LorebookId, below)))
        )
        for at, below in edges.items()
    }
    found = [each.lorebook.id for each in collect(LorebookId(1), shelf.get)]
    assert len(found) == len(set(found)) <= len(shelf)
