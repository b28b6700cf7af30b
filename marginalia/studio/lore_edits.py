"""One thing done to many entries at once, and taken back at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from marginalia.errors import InvalidInput, NotFound
from marginalia.lore.book import Entry, Lorebook
from marginalia.store.lorebooks import Lorebooks
from marginalia.store.repository import id_of, tidy_tags
from marginalia.values import LorebookId


@dataclass(frozen=True, slots=True, kw_only=True)
class LoreEdit:
    """What was done, as a sentence, to the entries as they were ``before`` and are ``after`` (none when deleted)."""

    text: str
    before: tuple[Entry, ...]
    after: tuple[Entry, ...]
    lorebooks: Lorebooks

    def undo(self) -> str:
        """Take it back in one transaction, and say so; an entry that was changed again since stays as it is."""
        if not self.after:
            self.lorebooks.restore_entries(self.before)
            return f"{_entries(self.before)} back again."
        known = self._now()
        untouched = [
            old for old, new in zip(self.before, self.after, strict=True) if known.get(new.id) == new
        ]
        self.lorebooks.save_entries(untouched)
        left = len(self.before) - len(untouched)
        more = f" {left:,} changed since stay as they are." if left else ""
        return f"{_entries(untouched)} as before.{more}"

    def _now(self) -> dict[int, Entry]:
        found: dict[int, Entry] = {}
        for lorebook in {each.lorebook_id for each in self.after}:
            try:
                found |= {each.id: each for each in self.lorebooks.entries(lorebook)}
            except NotFound:
                continue  # the whole lorebook is in the trash, and its entries with it
        return found


def edit_entries(
    lorebooks: Lorebooks,
    entries: Iterable[Entry],
    *,
    enabled: bool | None = None,
    tag: str = "",
    untag: str = "",
    lorebook: Lorebook | int | None = None,
) -> LoreEdit:
    """Switch *entries* on or off, give or take a tag, or move them: what is given. See ``LoreShelf.edit_entries``."""
    before = tuple(entries)
    changes: list[tuple[str, Callable[[Entry], Entry]]] = []
    if enabled is not None:
        changes.append(
            (f"switched {'on' if enabled else 'off'}", lambda each: replace(each, enabled=enabled))
        )
    if tag.strip():
        word = tag.strip()
        changes.append((f"tagged {word!r}", lambda each: replace(each, tags=tidy_tags((*each.tags, word)))))
    if untag.strip():
        less = untag.strip()
        changes.append(
            (f"without the tag {less!r}", lambda each: replace(each, tags=_without(each.tags, less)))
        )
    if lorebook is not None:
        home = lorebooks.get(id_of(lorebook))
        number = LorebookId(home.id)
        changes.append((f"moved to {home.name!r}", lambda each: replace(each, lorebook_id=number)))
    if not changes:
        raise InvalidInput("Nothing is to be changed: say what shall become of the entries.")
    after = before
    for _, change in changes:
        after = tuple(map(change, after))
    pairs = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    stored = lorebooks.save_entries(new for _, new in pairs)
    text = f"{_entries(before)} {' and '.join(said for said, _ in changes)}."
    return LoreEdit(text=text, before=tuple(old for old, _ in pairs), after=stored, lorebooks=lorebooks)


def remove_entries(lorebooks: Lorebooks, entries: Iterable[Entry]) -> LoreEdit:
    """Move *entries* to the trash."""
    before = tuple(entries)
    lorebooks.delete_entries(before)
    return LoreEdit(text=f"{_entries(before)} in the trash.", before=before, after=(), lorebooks=lorebooks)


def _without(tags: Sequence[str], tag: str) -> tuple[str, ...]:
    return tuple(each for each in tags if each != tag)


def _entries(entries: Sequence[Entry]) -> str:
    return f"{len(entries):,} {'entry' if len(entries) == 1 else 'entries'}"
