from __future__ import annotations

import pytest

from marginalia.lore.book import Match, RegexFilter, TextFilter
from marginalia.lore.filters import keys_of, problem, with_keys
from tests.lore.helpers import entry, key, verdict

A, B, C, D = key("a.b"), key("bell"), key("crow"), key("dove")


@pytest.mark.parametrize(
    ("pattern", "match"),
    [
        (r"\Qa.b\E", Match(any=(A,))),
        (r"\Qa.b\E|\Qbell\E", Match(any=(A, B))),
        (r"(?:\Qa.b\E|\Qbell\E)", Match(any=(A, B))),
        (r"(?s)^(?=.*(?:\Qa.b\E|\Qbell\E))(?=.*(?:\Qcrow\E))", Match(any=(A, B), all=(C,))),
        (r"(?s)^(?=.*(?:\Qa.b\E))(?=.*(?:\Qcrow\E|\Qdove\E))", Match(any=(A,), also=(C, D))),
        (r"(?s)^(?=.*(?:\Qa.b\E))(?=.*\Qcrow\E)(?=.*\Qdove\E).*", Match(any=(A,), all=(C, D))),
        (r"(?s)^(?=.*(?:\Qa.b\E))(?!.*(?:\Qcrow\E|\Qdove\E))", Match(any=(A,), none=(C, D))),
        (r"(?s)^(?=.*(?:\Qa.b\E))(?!(?=.*\Qcrow\E)(?=.*\Qdove\E))", Match(any=(A,), not_all=(C, D))),
        (r"(?=.*\b\Qbell\E\b)", Match(any=(key("bell", whole_word=True),))),
        (r"^(?=.*(?:\Qa.b\E|be(?:ll|st)\d))", Match(any=(A, key(r"be(?:ll|st)\d", kind="regex")))),
        (r"^(?=.*(?:\Qa|b\E|[|]x))", Match(any=(key("a|b"), key("[|]x", kind="regex")))),
    ],
)
def test_generated_filters_become_keys_and_logic(pattern: str, match: Match) -> None:
    assert keys_of(RegexFilter(pattern)) == match


@pytest.mark.parametrize(
    "pattern",
    [
        r"\b(duke|duchess)\b",
        "duke|duchess",
        r"(?=.*a)b",
        r"(?=a)",
        r"(?!.*\Qa\E)",
        r"(?=.*(?:\Qa\E|\Qb\E))(?=.*(?:\Qc\E|\Qd\E))(?=.*(?:\Qe\E|\Qf\E))",
        r"(?=.*(?:\Qa\E",
        r"(?=.*\Qa\E)(?!(?=.*\Qc\E)x)",
        r"(?=.*(?:(*bad|\Qa\E))",
        "",
        r"\Q",
    ],
)
def test_what_an_author_wrote_stays_what_it_is(pattern: str) -> None:
    author = entry(filter=RegexFilter(pattern))
    assert with_keys(author) is author


@pytest.mark.parametrize(
    "request_", ["a.b crow", "bell", "BELL and CROW", "axb crow", "crow", "bell\ncrow", ""]
)
def test_keys_and_the_filter_they_came_from_agree(request_: str) -> None:
    generated = entry(filter=RegexFilter(r"(?s)^(?=.*(?:\Qa.b\E|\Qbell\E))(?!.*(?:\Qcrow\E))"))
    turned = with_keys(generated)
    assert turned.filter is None
    assert verdict(turned, request=request_).active is verdict(generated, request=request_).active


def test_an_entry_with_keys_keeps_its_filter() -> None:
    both = entry(filter=RegexFilter(r"\Qa\E"), match=Match(any=(B,)))
    assert with_keys(both) is both
    plain = entry(filter=TextFilter(r"\Qa\E"))
    assert with_keys(plain) is plain


def test_the_editor_is_told_what_is_wrong() -> None:
    assert problem(TextFilter("(*open")) is None
    assert problem(RegexFilter(r"\b(duke|duchess)\b")) is None
    assert problem(RegexFilter(" ")) is None
    fault = problem(RegexFilter("(*open"))
    assert fault is not None
    assert fault.startswith("This expression cannot be read: ")
    assert fault.endswith(", so it never matches.")
    assert problem(key("a" * 2_001, kind="regex")) == (
        "This expression is longer than 2,000 characters, so it never matches."
    )
    assert problem(key(" ")) == "This key is empty, so it is left out."
    assert problem(key("(*", kind="wildcard")) is None
