# ruff: noqa: RUF001 - letters of many scripts are what is tested
"""Expressions of users: the same answer from every engine, and never for longer than they may."""

from __future__ import annotations

import time

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from marginalia.lore.activation import activate
from marginalia.lore.collecting import Candidate
from marginalia.lore.expressions import Expression, TooSlow, plain_text, without_turkish
from marginalia.lore.linear import LinearSet, compile_linear
from marginalia.lore.scan import Scan
from tests.lore.helpers import active, candidates, entry, expression, text, verdicts

_PIECES = [
    *(
        "a",
        "B",
        "é",
        "š",
        "ж",
        "İ",
        "ı",
        "i",
        "k",
        "\u212a",
        "-",
        " ",
        "\n",
        ".",
        "{",
        "(",
        ")",
        "|",
        "^",
        "$",
    ),
    *(r"\b", r"\B", r"\w", r"\W", r"\d", r"\s", r"\S", r"\p{L}", r"\.", r"\Qa.\E", r"\x{e9}"),
    *(
        "(?:a|é)",
        "[a-z]",
        r"[\w-]",
        r"[^\s]",
        r"[^\W\d]",
        "[[:alpha:]]",
        "(?i)",
        "a+",
        "é*",
        "x?",
        "(?=a)",
        "(?<!a)",
    ),
]
_TEXTS = st.text(alphabet="aAbBéÉšŠжЖİıiIkK\u212a-. \n1_x\u00a0", max_size=24)


@settings(max_examples=400)
@given(parts=st.lists(st.sampled_from(_PIECES), min_size=1, max_size=5), said=_TEXTS, case=st.booleans())
def test_all_engines_give_the_answer_of_the_library(parts: list[str], said: str, *, case: bool) -> None:
    subject = Expression("".join(parts), case=case)
    if subject.problem is not None or subject.relaxed is None:
        return
    wanted = subject.exact
    if wanted is None:
        return
    expected = wanted.search(said) is not None
    form = subject.strict if plain_text(said) else subject.relaxed
    relaxed = without_turkish(said)
    found, _ = LinearSet([form or ""]).search(relaxed)
    if plain_text(said) or (subject.same and relaxed == said):
        assert bool(found) is expected
    assert found or not expected
    assert (subject.find(said, 0, 1.0) is not None) is expected


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", r"\s+$", "(a|a)*b", r"^(\w+\s?)*$", "(.*)(.*)(.*)(.*)zzz", r"(\w+) \1 zzz"]
)
@pytest.mark.parametrize("said", ["a" * 20_000 + "!", " " * 20_000 + "x", "word " * 4_000, "é " * 10_000])
def test_a_hostile_expression_does_not_hold_anybody_up(pattern: str, said: str) -> None:
    given_ = candidates(entry("bad", filter=expression(pattern)), entry("good", filter=text("x")))
    activate(given_, Scan())
    assert min(seconds(given_, said), seconds(given_, f"{said}.")) < 0.1


def seconds(given_: tuple[Candidate, ...], said: str) -> float:
    began = time.process_time()
    activate(given_, Scan(request=said))
    return time.process_time() - began


def test_a_search_that_took_too_long_is_told_and_given_up_after_twice() -> None:
    found = Expression(r"(?<=x)y|\s+$")
    for _ in range(2):
        assert not found.given_up
        with pytest.raises(TooSlow):
            found.find(" " * 60_000 + "x", 0, 0.02)
    assert found.given_up
    with pytest.raises(TooSlow):
        found.find("xy", 0, 1.0)


def test_the_verdict_names_the_expression_that_took_too_long() -> None:
    slow = entry("slow", filter=expression(r"(?<=x)y|\s+$"))
    found = verdicts(slow, entry("good"), request=" " * 60_000 + "x")
    assert active(found) == ["good"]
    assert found[0].reason == r"The search for *(?<=x)y|\s+$* took too long and was stopped."
    assert found[0].nearly


def test_all_slow_expressions_of_a_turn_share_its_patience() -> None:
    many = candidates(*(entry(f"e{at}", filter=expression(rf"(?<=x{at})y|\s+$")) for at in range(50)))
    now = 0.0

    def stopwatch() -> float:
        nonlocal now
        now += 0.01
        return now

    found = activate(many, Scan(request=" " * 30_000 + "x", patience=0.03, stopwatch=stopwatch))
    assert not active(found)
    assert all("took too long" in each.reason for each in found)


def test_ten_thousand_hostile_expressions_are_searched_together() -> None:
    given_ = candidates(*(entry(f"e{at}", filter=expression(rf"(?:\s+)+$|x{at}y")) for at in range(10_000)))
    activate(given_, Scan(request="x"))
    assert active(activate(given_, Scan(request=" " * 20_000 + "x77y"))) == ["e77"]
    assert min(seconds(given_, f"{' ' * 20_000}x{at}y") for at in range(3)) < 0.1


def test_expressions_too_big_together_are_split_and_still_found() -> None:
    sources = [rf"(?is:(?:[a-z]+ ){{1,100}}x{at}.{{900}})" for at in range(40)]
    assert all(compile_linear(source) for source in sources)
    found, unsure = LinearSet(sources).search("abc " * 10 + "x7" + "." * 900)
    assert 7 in {*found, *unsure}


def test_an_expression_is_compiled_by_nobody_before_it_is_needed() -> None:
    assert isinstance(Expression("a.b").find("a\nb", 0, 1.0), tuple)
    assert Expression("x" * 3_000).find("x" * 3_000, 0, 1.0) is None
    assert Expression("(*bad").find("(*bad", 0, 1.0) is None
    assert regex.search("a", "a") is not None
