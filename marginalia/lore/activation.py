"""Which entries are in: a verdict for every candidate, in the candidates' order."""

from __future__ import annotations


import regex

from marginalia.lore.book import Filter, RegexFilter
from marginalia.lore.verdicts import Gate, Verdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from marginalia.lore.scan import Scan
    from marginalia.lore.collecting import Candidate
    from collections.abc import Sequence


def activate(candidates: Sequence[Candidate], scan: Scan) -> tuple[Verdict, ...]:
    """A verdict for every one of *candidates*, in the same order."""
    tags = frozenset(scan.tags)
    return tuple(_verdict(each, scan, tags) for each in candidates)


def _verdict(candidate: Candidate, scan: Scan, tags: frozenset[str]) -> Verdict:
    entry = candidate.entry
    blocking = [tag for tag in entry.negative_tags if tag in tags]
    fitting = not entry.tags or any(tag in tags for tag in entry.tags)
    gates = (
        Gate(
            name="enabled",
            passed=entry.enabled,
            text="It is switched " + ("on." if entry.enabled else "off."),
        ),
        Gate(
            name="negative tags",
            passed=not blocking,
            text=f"The book has {', '.join(blocking) or 'none of its negative tags'}.",
        ),
        Gate(
            name="tags",
            passed=fitting,
            text="The tags fit." if fitting else f"The book has none of {', '.join(entry.tags)}.",
        ),
        Gate(name="filter", passed=_matches(entry.filter, scan.request), text="Its filter."),
    )
    failed = [gate for gate in gates if not gate.passed]
    return Verdict(
        entry=entry,
        lorebook=candidate.lorebook.name,
        active=not failed,
        reason=failed[0].text if failed else "All conditions hold.",
        gates=gates,
        tokens=scan.count(entry.payload),
    )


def _matches(filter_: Filter | None, text: str) -> bool:
    if isinstance(filter_, RegexFilter):
        if not filter_.pattern.strip():
            return True
        try:
            found = regex.search(filter_.pattern, text, regex.IGNORECASE | regex.DOTALL, timeout=0.05)
        except (regex.error, TimeoutError):
            return False
        return found is not None
    return filter_ is None or not filter_.text.strip() or filter_.text.lower() in text.lower()
