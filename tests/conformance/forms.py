"""The forms that a file of cases can have: black-box cases, cases of the macro language, cases on the wire."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.inference.wire_cases import check
from tests.prompt.macros.macro_cases import problems

CHUNK_SIZES = (0, 7, 1)
"""A body on the wire must read the same whole, by seven bytes and by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Small:
    """A case that is a pure function: its id, its area, and what is wrong with what comes out."""

    id: str
    area: str
    title: str
    problems: Callable[[], list[str]]


def small_cases(path: Path, *, areas: Collection[str], ids: Collection[str]) -> list[Small] | None:
    """The cases of a file about macros or the wire; ``None`` for a file of black-box cases."""
    content: Any = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(content, Mapping):
        return None
    found = _macros(content) if "base_context" in content else _wire(content)
    return [case for case in found if (not areas or case.area in areas) and (not ids or case.id in ids)]


def _macros(content: Mapping[str, Any]) -> Iterator[Small]:
    base = content["base_context"]
    for case in content["cases"]:
        yield Small(
            id=case["id"],
            area=case.get("group", "macros"),
            title=case.get("note", ""),
            problems=lambda case=case: problems(case, base),
        )


def _wire(content: Mapping[str, Any]) -> Iterator[Small]:
    for name, case in content.items():
        if isinstance(case, Mapping) and "expect" in case:
            yield Small(
                id=name,
                area="wire",
                title=case.get("note", ""),
                problems=lambda case=case: list(_on_the_wire(case)),
            )


def _on_the_wire(case: Mapping[str, Any]) -> Iterator[str]:
    for size in CHUNK_SIZES:
        for name, (expected, got) in check(case, size).items():
            fed = f"by {size} bytes" if size else "whole"
            yield f"{name}, fed {fed}: expected {expected!r}, got {got!r}"
