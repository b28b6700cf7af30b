"""Comparing what a case expects with what came out.

A plain value means equality, a plain dict only its listed keys, a list every element in order. A dict whose keys
start with ``$`` holds matchers that must all hold; it may list plain keys beside them. What is compared may also
judge for itself: a :class:`Judge` gets the expectation and answers with what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import groupby, pairwise
from typing import Any

from tests.conformance.case import Value
from tests.conformance.seen import MISSING, Failure, Judge, Mismatches, RenderError, Surroundings

_AS_SETS = ("tags", "negative_tags", "tag_owners")


def mismatches(expected: Value, actual: Value, around: Surroundings, path: str = "") -> Mismatches:
    """What differs between *expected* and *actual*, one line each; nothing when they agree."""
    if isinstance(actual, Judge):
        yield from actual.mismatches(expected, around, path)
    elif isinstance(expected, Mapping):
        yield from _dict_mismatches(expected, actual, around, path)
    elif isinstance(expected, list):
        yield from _list_mismatches(expected, actual, around, path)
    elif not equal(expected, actual):
        yield _differs(path, expected, actual)


def matches(expected: Value, actual: Value, around: Surroundings) -> bool:
    """Whether *actual* is what is expected."""
    return next(mismatches(expected, actual, around), None) is None


def equal(expected: Value, actual: Value) -> bool:
    """Equality as cases mean it: nothing is null, a number is no truth value, times may be texts."""
    if expected is None:
        return actual is None or actual is MISSING
    if isinstance(expected, bool) or isinstance(actual, bool):
        return bool(expected is actual)
    if isinstance(actual, datetime) and isinstance(expected, str):
        return bool(_time(expected) == actual)
    if isinstance(actual, Failure):
        return bool(expected == actual.text)
    return bool(expected == actual)


def _differs(path: str, expected: Value, actual: Value) -> str:
    return f"{path or 'value'}: expected {_short(expected)}, got {_short(_reduced(expected, actual))}"


def _reduced(expected: Value, actual: Value) -> Value:
    """*actual* without what nobody asked for: of objects in a list only the keys that are expected of any."""
    if not (_listlike(expected) and _listlike(actual)):
        return actual
    names = {name for each in expected if isinstance(each, Mapping) for name in each}
    if not names:
        return actual
    return [
        {name: each[name] for name in each if name in names} if isinstance(each, Mapping) else each
        for each in actual
    ]


def _short(value: Value, limit: int = 400) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 40]} ... ({len(text)} characters)"


def _dict_mismatches(
    expected: Mapping[str, Value], actual: Value, around: Surroundings, path: str
) -> Mismatches:
    for name, argument in expected.items():
        if not name.startswith("$"):
            yield from mismatches(argument, _child(actual, name), around, f"{path}.{name}".lstrip("."))
        elif name not in _MATCHERS:
            yield f"{path}: the runner has no matcher {name}"
        elif not _MATCHERS[name](argument, actual, around):
            yield _differs(path, {name: argument}, actual)
    if not expected and not (isinstance(actual, Mapping) and not actual):
        yield _differs(path, expected, actual)


def _child(actual: Value, name: str) -> Value:
    if isinstance(actual, Failure):
        return actual.figures.get(name, MISSING)
    if isinstance(actual, Mapping):
        return actual.get(name, MISSING)
    return MISSING


def _list_mismatches(expected: Sequence[Value], actual: Value, around: Surroundings, path: str) -> Mismatches:
    if not _listlike(actual):
        yield _differs(path, expected, actual)
    elif path.rpartition(".")[2] in _AS_SETS:
        if sorted(map(str, expected)) != sorted(map(str, actual)):
            yield _differs(path, expected, actual)
    elif any(isinstance(each, Mapping) and "$optional" in each for each in expected):
        if not _matches_with_gaps(expected, actual, around):
            yield _differs(path, expected, actual)
    elif len(expected) != len(actual):
        yield _differs(path, expected, actual)
    else:
        for at, (want, got) in enumerate(zip(expected, actual, strict=True)):
            yield from mismatches(want, got, around, f"{path}[{at}]")


def _listlike(value: Value) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _matches_with_gaps(expected: Sequence[Any], actual: Sequence[Any], around: Surroundings) -> bool:
    if not expected:
        return not actual
    first, rest = expected[0], expected[1:]
    optional = isinstance(first, Mapping) and "$optional" in first
    wanted = first["$optional"] if optional else first
    taken = (
        bool(actual) and matches(wanted, actual[0], around) and _matches_with_gaps(rest, actual[1:], around)
    )
    return taken or (optional and _matches_with_gaps(rest, actual, around))


def _time(value: Value) -> Value:
    if not isinstance(value, str):
        return value
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return value


def _comparable(name: Value, around: Surroundings) -> Value:
    known = around.named_time(name) if isinstance(name, str) else None
    return known if known is not None else _time(name)


def _compare(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any, Surroundings], bool]:
    def matcher(bound: Value, actual: Value, around: Surroundings) -> bool:
        try:
            return test(_time(actual), _comparable(bound, around))
        except TypeError:
            return False

    return matcher


def _between(bounds: Sequence[Value], actual: Value, around: Surroundings) -> bool:
    low, high = (_comparable(bound, around) for bound in bounds)
    try:
        return bool(low <= _time(actual) <= high)
    except TypeError:
        return False


def _in_order(names: Value, actual: Value, around: Surroundings) -> bool:
    values = actual if names is True else [_named(name, actual, around) for name in names]
    try:
        return all(one <= next_one for one, next_one in pairwise([_time(each) for each in values]))
    except TypeError:
        return False


def _named(name: Value, actual: Value, around: Surroundings) -> Value:
    found = _child(actual, name)
    return _comparable(name, around) if found is MISSING else found


def _contains(wanted: Value, actual: Value, around: Surroundings) -> bool:
    several = wanted if isinstance(wanted, list) else [wanted]
    if isinstance(actual, str | Failure):
        return all(str(each) in str(actual) for each in several)
    return _listlike(actual) and all(any(matches(each, got, around) for got in actual) for each in several)


def _contains_none(unwanted: Value, actual: Value, around: Surroundings) -> bool:
    several = unwanted if isinstance(unwanted, list) else [unwanted]
    if actual is None or actual is MISSING:
        return True
    return not any(_contains([each], actual, around) for each in several)


def _count(wanted: Value, actual: Value, around: Surroundings) -> bool:
    return (_listlike(actual) or isinstance(actual, str | Mapping)) and matches(wanted, len(actual), around)


def _as_set(wanted: Sequence[Value], actual: Value, around: Surroundings) -> bool:
    return (
        _listlike(actual)
        and all(any(matches(each, got, around) for got in actual) for each in wanted)
        and all(any(matches(each, got, around) for each in wanted) for got in actual)
    )


def _contains_ids(labels: Sequence[str], actual: Value, around: Surroundings) -> bool:
    return all(
        any(
            re.search(rf"(?<!\w){re.escape(spelling)}(?!\w)", str(actual))
            for spelling in around.ids_of(label)
        )
        for label in labels
    )


def _max_run(limit: Sequence[Value], actual: Value, _: Surroundings) -> bool:
    char, most = limit
    return all(each != char or sum(1 for _ in run) <= most for each, run in groupby(str(actual)))


def _non_overlapping(number: int, actual: Value, _: Surroundings) -> bool:
    if not _listlike(actual) or len(actual) != number:
        return False
    return all(one[1] <= after[0] for one, after in pairwise(sorted(actual)))


def _category(category: str, actual: Value, _: Surroundings) -> bool:
    return (
        isinstance(actual, Failure)
        and actual.category == category
        and str(actual).startswith(actual.category_text)
    )


def _category_text_only(wanted: bool, actual: Value, _: Surroundings) -> bool:
    return isinstance(actual, Failure) and (actual.text.strip() == actual.category_text.strip()) is wanted


def _some_pair_differs(wanted: bool, actual: Value, _: Surroundings) -> bool:
    halves = [str(each).partition("+") for each in actual]
    return any(left != right for left, _plus, right in halves) is wanted


def _is(test: Callable[[Any], bool]) -> Callable[[Any, Any, Surroundings], bool]:
    def matcher(wanted: Value, actual: Value, _: Surroundings) -> bool:
        return test(actual) is wanted

    return matcher


_MATCHERS: Mapping[str, Callable[[Any, Any, Surroundings], bool]] = {
    "$oneOf": lambda options, actual, around: any(matches(each, actual, around) for each in options),
    "$not": lambda unwanted, actual, around: not matches(unwanted, actual, around),
    "$any": _is(lambda actual: actual is not MISSING),
    "$not_null": _is(lambda actual: actual is not None and actual is not MISSING),
    "$not_blank": _is(lambda actual: isinstance(actual, str | Failure) and bool(str(actual).strip())),
    "$contains": _contains,
    "$notContains": _contains_none,
    "$startsWith": lambda start, actual, _: (
        isinstance(actual, str | Failure) and str(actual).startswith(start)
    ),
    "$endsWith": lambda end, actual, _: isinstance(actual, str | Failure) and str(actual).endswith(end),
    "$count": _count,
    "$gt": _compare(lambda actual, bound: actual > bound),
    "$gte": _compare(lambda actual, bound: actual >= bound),
    "$lt": _compare(lambda actual, bound: actual < bound),
    "$lte": _compare(lambda actual, bound: actual <= bound),
    "$between": _between,
    "$order": _in_order,
    "$same_as": lambda name, actual, around: _jsonlike(actual) == _jsonlike(around.named_value(name)),
    "$same_content_as": lambda name, actual, around: _content(actual) == _content(around.named_value(name)),
    "$exactly": _as_set,
    "$contains_ids": _contains_ids,
    "$render_error": _is(lambda actual: isinstance(actual, RenderError)),
    "$max_run": _max_run,
    "$non_overlapping": _non_overlapping,
    "$category": _category,
    "$equals_category_text": _category_text_only,
    "$kind": lambda kind, actual, _: isinstance(actual, Failure) and actual.kind == kind,
    "$all_equal": _is(lambda actual: len(set(actual)) <= 1),
    "$distinct_at_least": lambda number, actual, _: len(set(actual)) >= number,
    "$some_pair_differs": _some_pair_differs,
}


def _jsonlike(value: Value) -> Value:
    if isinstance(value, Mapping):
        return {name: _jsonlike(each) for name, each in value.items()}
    return [_jsonlike(each) for each in value] if _listlike(value) else value


def _content(value: Value) -> Value:
    """A value without identifiers and creation times; an operation stands for its ``content``."""
    if isinstance(value, Mapping):
        inner = value.get("content", value)
        if inner is not value:
            return _content(inner)
        return {
            name: _content(each)
            for name, each in value.items()
            if name not in {"id", "uid", "uuid", "created"}
        }
    return [_content(each) for each in value] if _listlike(value) else value
