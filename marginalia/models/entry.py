"""A lore entry as a form edits it: the everyday fields; everything else of the entry stays as it was."""

from __future__ import annotations

from dataclasses import replace

import param

from marginalia.lore.book import Entry, Filter, Insertion, RegexFilter, TextFilter
from marginalia.models.base import Model, chosen, cleaned


class EntryModel(Model):
    """An entry of a lorebook."""

    named = True

    name = param.String(default="", constant=False, label="Name", doc="What the entry is about.")
    payload = param.String(
        default="", label="Text", doc="What the model reads when the entry is in. Macros work here."
    )
    filter_text = param.String(
        default="",
        label="Called by",
        doc="The entry comes in when the request contains this. Empty: whenever its tags allow.",
    )
    regular_expression = param.Boolean(
        default=False, label="Regular expression", doc="Read the field above as a regular expression."
    )
    enabled = param.Boolean(default=True, label="In use", doc="An entry that is not in use never comes in.")
    ordinal = param.Integer(
        default=100, label="Order", doc="Entries with a smaller number stand earlier; equal ones by age."
    )
    insertion: param.Selector[str] = param.Selector(
        default=Insertion.LORE_BLOCK.value,
        objects=[each.value for each in Insertion],
        label="Place",
        doc="lore_block: with the other lore. before_user_prompt: right before the request.",
    )
    tags = param.List(
        default=[], item_type=str, label="Tags", doc="Only in books with one of these tags. Empty: in all."
    )
    negative_tags = param.List(
        default=[], item_type=str, label="Not with", doc="Never in books with one of these tags."
    )

    def take(self, entry: Entry) -> None:
        """Show *entry*."""
        self.param.update(
            name=entry.name,
            payload=entry.payload,
            filter_text=_text_of(entry.filter),
            regular_expression=isinstance(entry.filter, RegexFilter),
            enabled=entry.enabled,
            ordinal=entry.ordinal,
            insertion=entry.insertion.value,
            tags=list(entry.tags),
            negative_tags=list(entry.negative_tags),
        )

    def freeze(self, entry: Entry) -> Entry:
        """*entry* with what was typed here."""
        return replace(
            entry,
            name=self.name.strip(),
            payload=self.payload,
            filter=self._filter(),
            enabled=self.enabled,
            ordinal=self.ordinal,
            insertion=Insertion(chosen(self, "insertion")),
            tags=cleaned(self.tags),
            negative_tags=cleaned(self.negative_tags),
        )

    def _filter(self) -> Filter | None:
        if not self.filter_text.strip():
            return None
        return RegexFilter(self.filter_text) if self.regular_expression else TextFilter(self.filter_text)


def _text_of(each: Filter | None) -> str:
    match each:
        case TextFilter(text):
            return text
        case RegexFilter(pattern):
            return pattern
        case None:
            return ""
