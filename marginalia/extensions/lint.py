"""Rules about lore that does something else than its author meant; each is a pure function of the entries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ahocorasick_rs import AhoCorasick

from marginalia.lore.book import Entry, Insertion, Pattern, RegexFilter, TextFilter
from marginalia.lore.collecting import Candidate
from marginalia.lore.folding import fold
from marginalia.lore.needles import Needle, blank

SHORT = 3
"""Keys with fewer characters stand inside many words (scripts without capitals and spaces are left out)."""
COMMON_SHARE = 0.8
COMMON_PARTS = 10
_COMMON_WORDS = """
about after again all and any are back because been before but came can come could day did does down
even ever every eyes face for from get good hand hands have head her here him his how into its just know
like little long look made make man more most much never new not now off old one only other our out over
own people said say saw see she some still take than that the their them then there they thing this time
two under upon very was way well went were what when where which while who will with woman would year
you your
"""
_COMMON = frozenset(_COMMON_WORDS.split())
_SLOW = (
    "/{}/ cannot be searched in linear time, so a long text can blow it up; it is given up after a fiftieth of a "
    "second. Leave out look-arounds and back references."
)
Key: TypeAlias = "TextFilter | RegexFilter | Pattern"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something to look at: which rule, which entry, and a sentence with what to do."""

    rule: str
    entry: Entry
    lorebook: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What the rules know beside the entries: the book's tags, the last parts, and how tokens are counted.

    ``budget`` is what all lore may have, in tokens; 0 stands for no limit.
    """

    count: Callable[[str], int]
    tags: frozenset[str] = frozenset()
    story: Sequence[str] = ()
    budget: int = 0


def lint(candidates: Sequence[Candidate], setting: Setting) -> tuple[Finding, ...]:
    """Everything that there is to say about the enabled entries of *candidates*, entry by entry."""
    enabled = [each for each in candidates if each.entry.enabled]
    folded = [fold(text) for text in setting.story]
    findings = [
        *(finding for each in enabled for finding in _alone(each, setting, folded)),
        *_inside_others(enabled),
    ]
    place = {id(each.entry): number for number, each in enumerate(enabled)}
    return tuple(sorted(findings, key=lambda each: place[id(each.entry)]))


def _alone(candidate: Candidate, setting: Setting, folded: Sequence[str]) -> Iterator[Finding]:
    for rule, text in (
        *(("never", each) for each in _never(candidate.entry, setting.tags)),
        *_keys(candidate.entry, folded),
        *(("too large", each) for each in _too_large(candidate, setting)),
    ):
        yield Finding(rule=rule, entry=candidate.entry, lorebook=candidate.lorebook.name, text=text)


def keys(entry: Entry) -> tuple[Key, ...]:
    """What calls an entry: its filter and its keys, without blank ones."""
    match = entry.match
    first: tuple[Key, ...] = () if entry.filter is None else (entry.filter,)
    return tuple(each for each in (*first, *match.any, *match.also, *match.all) if not blank(each))


def _keys(entry: Entry, story: Sequence[str]) -> Iterator[tuple[str, str]]:
    for key in keys(entry):
        needle = Needle(key)
        if needle.expression is not None:
            if needle.problem is None and needle.expression.relaxed is None:
                yield "slow expression", _SLOW.format(needle.label)
            continue
        text = fold(needle.label.strip())
        if len(text) < SHORT and text.isascii() and not _whole(key):
            yield (
                "short key",
                f"*{needle.label}* is so short that it stands inside many words. Ask for whole words.",
            )
        elif text in _COMMON or _in_most(text, story):
            yield "common key", f"*{needle.label}* is in nearly every part, so the entry is nearly always in."


def _whole(key: Key) -> bool:
    return isinstance(key, Pattern) and key.whole_word


def _in_most(text: str, story: Sequence[str]) -> bool:
    if len(story) < COMMON_PARTS:
        return False
    return sum(text in part for part in story) > COMMON_SHARE * len(story)


def _never(entry: Entry, tags: frozenset[str]) -> Iterator[str]:
    """Why an entry can never be in."""
    if entry.when.never:
        yield "It is set never to be in."
    if entry.when.chance <= 0:
        yield "Its chance is 0 %."
    if not entry.payload.strip():
        yield "It has no text, so nothing is printed when it is in."
    if entry.insertion is Insertion.SLOT and not entry.where.slot.strip():
        yield "It goes into a named slot and names none."
    yield from _barred(entry, tags)
    if not entry.when.always:
        yield from _uncalled(entry)


def _barred(entry: Entry, tags: frozenset[str]) -> Iterator[str]:
    asked = {tag.lower() for tag in entry.tags}
    if asked and asked <= {tag.lower() for tag in entry.negative_tags}:
        yield "Every tag that it asks for is one that keeps it out."
    elif asked and asked.isdisjoint(tag.lower() for tag in tags):
        yield f"It asks for the tag {' or '.join(sorted(entry.tags))}, which the book does not have."


def _uncalled(entry: Entry) -> Iterator[str]:
    """Why nothing can call an entry."""
    scope, match, called_by = entry.scope, entry.match, keys(entry)
    for each in map(Needle, called_by):
        if each.problem:
            yield f"The expression /{each.label}/ {each.problem}."
    both = {each.text.lower() for each in match.all} & {each.text.lower() for each in match.none}
    if both:
        yield f"It needs *{min(both)}* and must not find it."
    if scope.only_recursive and not called_by:
        yield "Only other lore may call it, and it has no key to be called by."
    looks = scope.request or scope.parts or scope.characters or scope.memory or scope.recursive
    if called_by and not looks and not scope.only_recursive:
        yield "It has keys and looks at nothing."
    if scope.no_recursion and (scope.only_recursive or scope.recursion_level):
        yield "It waits for other lore, and no lore may call it."


def _too_large(candidate: Candidate, setting: Setting) -> Iterator[str]:
    entry = candidate.entry
    if entry.budget.ignore or not entry.payload.strip():
        return
    tokens = setting.count(entry.payload)
    for limit, whose in (
        (entry.budget.maximum, "its own maximum is"),
        (candidate.lorebook.settings.token_budget, "its lorebook may have"),
        (setting.budget, "all lore may have"),
    ):
        if 0 < limit < tokens:
            yield f"It has {tokens:,} tokens and {whose} {limit:,}, so it is never in. Shorten it or raise the limit."
            return


def _inside_others(candidates: Iterable[Candidate]) -> Iterator[Finding]:
    """Keys that stand inside keys of other entries, found in one pass over all keys."""
    owners: dict[str, list[Candidate]] = {}
    loose: set[str] = set()
    for candidate in candidates:
        for key in keys(candidate.entry):
            if isinstance(key, RegexFilter) or (isinstance(key, Pattern) and key.kind != "plain"):
                continue
            text = fold(key.text.strip())
            owners.setdefault(text, []).append(candidate)
            if not _whole(key):
                loose.add(text)
    short = sorted(loose)
    index = AhoCorasick(short)
    said: set[tuple[int, str]] = set()
    for longer, theirs in owners.items():
        for number, _, _ in index.find_matches_as_indexes(longer, overlapping=True):
            inner = short[number]
            others = [each for each in owners[inner] if all(each is not other for other in theirs)]
            for candidate in others if inner != longer else ():
                if (id(candidate), inner) not in said:
                    said.add((id(candidate), inner))
                    text = f"*{inner}* is inside *{longer}* of {theirs[0].entry.name!r}, which calls this entry, too."
                    yield Finding(
                        rule="key inside a key",
                        entry=candidate.entry,
                        lorebook=candidate.lorebook.name,
                        text=text,
                    )
