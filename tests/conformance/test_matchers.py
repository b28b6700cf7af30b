"""The matchers of the conformance cases mean what the vocabulary says."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from tests.conformance.matchers import matches, mismatches
from tests.conformance.seen import MISSING, Failure, RenderError

if TYPE_CHECKING:
    from tests.conformance.case import Value


@dataclass
class Around:
    times: dict[str, datetime] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)

    def named_time(self, name: str) -> datetime | None:
        return self.times.get(name)

    def named_value(self, name: str) -> Value:
        return self.values.get(name, MISSING)

    def ids_of(self, label: str) -> tuple[str, ...]:
        return (label.removeprefix("P"),)


AROUND = Around(
    times={"op_start": datetime(2027, 1, 1, 10, tzinfo=UTC), "op_end": datetime(2027, 1, 1, 11, tzinfo=UTC)},
    values={"wire": [["user", "Go."]], "x": {"content": {"name": "World", "uid": "a", "created": 1}}},
)
NOON = datetime(2027, 1, 1, 10, 30, tzinfo=UTC)
AUTH = Failure(text="Wrong key. key not valid", category="auth", category_text="Wrong key.")
TOO_LONG = Failure(text="Too long.", kind="summary_context", figures={"required": 21})


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (None, MISSING),
        (1, 1.0),
        (["a", ["b"]], ("a", ("b",))),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({}, {}),
        ({"tags": ["b", "a"]}, {"tags": ["a", "b"]}),
        ("2027-01-01T10:30:00Z", NOON),
        ({"$oneOf": [None, ""]}, ""),
        ({"$any": True}, None),
        ({"$not_null": True}, ""),
        ({"$not_blank": True}, "x"),
        ({"$contains": ["a", "b"]}, "b a"),
        ({"$contains": ["a"]}, ["a", "b"]),
        ({"$notContains": ["c"]}, "b a"),
        ({"$startsWith": "Sa", "$contains": ["t"]}, "Salt"),
        ({"$count": 2}, ["a", "b"]),
        ({"$count": {"$gt": 1}}, ["a", "b"]),
        ({"$gt": 1}, 2),
        ({"$gte": 2}, 2),
        ({"$lte": 0.1}, 0.1),
        ({"$between": ["op_start", "op_end"]}, NOON),
        ({"$between": [1, 3]}, 2),
        ({"$order": True}, [1, 1, 2]),
        ({"$order": ["op_start", "first", "op_end"]}, {"first": NOON}),
        ({"$same_as": "wire"}, [("user", "Go.")]),
        ({"$same_content_as": "x"}, {"content": {"name": "World", "uid": "b", "created": 2}}),
        ({"$exactly": ["a", "b"]}, ["b", "a", "b"]),
        (["a", {"$optional": "b"}, "c"], ["a", "c"]),
        (["a", {"$optional": "b"}, "c"], ["a", "b", "c"]),
        ({"$contains_ids": ["P12", "P3"]}, "the summaries of parts 3 and 12"),
        ({"$render_error": True}, RenderError("a stray closing tag")),
        ({"$max_run": ["x", 3]}, "xxx yxxx"),
        ({"$non_overlapping": 2}, [[2, 3], [0, 2]]),
        ({"$category": "auth", "$contains": ["key not valid"]}, AUTH),
        ({"$equals_category_text": True}, Failure(text="Wrong key.", category="auth", category_text="Wrong key.")),
        ({"$kind": "summary_context", "required": {"$gt": 20}}, TOO_LONG),
        ("Wrong key. key not valid", AUTH),
        ({"$all_equal": True}, ["a", "a"]),
        ({"$distinct_at_least": 2}, ["a", "b", "a"]),
        ({"$some_pair_differs": True}, ["a+a", "a+b"]),
    ],
)  # fmt: skip
def test_an_expectation_that_holds_says_nothing(expected: Value, actual: Value) -> None:
    assert list(mismatches(expected, actual, AROUND)) == []


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (None, ""),
        (1, True),
        (False, 0),
        (["a"], ["a", "b"]),
        (["a", "b"], ["b", "a"]),
        (["a"], "a"),
        ({"a": 1}, {"b": 1}),
        ({}, {"a": 1}),
        ({"tags": ["a"]}, {"tags": ["a", "b"]}),
        ({"$oneOf": [None, ""]}, "x"),
        ({"$any": True}, MISSING),
        ({"$not_null": True}, None),
        ({"$not_blank": True}, " \n"),
        ({"$contains": ["a", "c"]}, "b a"),
        ({"$contains": ["a"]}, None),
        ({"$notContains": ["a"]}, "b a"),
        ({"$startsWith": "Sa", "$contains": ["x"]}, "Salt"),
        ({"$count": 1}, []),
        ({"$count": 0}, None),
        ({"$gt": 1}, 1),
        ({"$gt": 1}, None),
        ({"$between": ["op_start", "op_end"]}, datetime(2027, 1, 1, 12, tzinfo=UTC)),
        ({"$order": True}, [2, 1]),
        ({"$order": ["op_start", "first"]}, {"first": None}),
        ({"$same_as": "wire"}, [["user", "Stop."]]),
        ({"$same_content_as": "x"}, {"content": {"name": "Other"}}),
        ({"$exactly": ["a", "b"]}, ["a"]),
        ({"$exactly": ["a"]}, ["a", "b"]),
        (["a", {"$optional": "b"}], ["a", "c"]),
        ({"$contains_ids": ["P1"]}, "the summary of part 12"),
        ({"$render_error": True}, "text"),
        ({"$max_run": ["x", 3]}, "xxxx"),
        ({"$non_overlapping": 2}, [[0, 2], [1, 3]]),
        ({"$non_overlapping": 3}, [[0, 2], [2, 3]]),
        ({"$category": "server"}, AUTH),
        ({"$category": "auth"}, "Wrong key."),
        ({"$equals_category_text": True}, AUTH),
        ({"$kind": "invalid_file"}, Failure(text="", kind="summary_context")),
        ({"$all_equal": True}, ["a", "b"]),
        ({"$distinct_at_least": 2}, ["a", "a"]),
        ({"$some_pair_differs": True}, ["a+a"]),
        ({"$unheard_of": 1}, 1),
    ],
)  # fmt: skip
def test_an_expectation_that_does_not_hold_is_named(expected: Value, actual: Value) -> None:
    assert not matches(expected, actual, AROUND)


def test_a_mismatch_says_where_it_is() -> None:
    problems = list(mismatches({"parts": [{"text": "a"}]}, {"parts": [{"text": "b"}]}, AROUND))
    assert problems == ["parts[0].text: expected 'a', got 'b'"]
