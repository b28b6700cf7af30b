"""How the words of the cases map to the names of the product, in both directions."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import marginalia as mg
from marginalia.prompt.receipt import Receipt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.conformance.case import Json, Value

EVENTS: Mapping[str, type[mg.events.Event]] = {
    "".join(f"_{char}" if char.isupper() else char for char in each.__name__).strip("_").upper(): each
    for each in mg.events.ALL
}
"""The events by the names of the specification."""

EVENT_NAMES = {event: name for name, event in EVENTS.items()}

PROMPT_DATA = {
    "jailbreak": ("templates", "jailbreak"),
    "generalTemplate": ("templates", "master_template"),
    "userPrompt": ("templates", "user_prompt"),
    "pov": ("templates", "pov"),
    "tense": ("templates", "tense"),
    "style": ("templates", "style"),
    "userPromptProcessed": ("user_prompt",),
    "userPromptProcessedTokens": ("user_prompt_tokens",),
    "backgroundLore": ("lore", "background"),
    "backgroundUserLore": ("lore", "before_user"),
    "systemPrompt": ("system_prompt",),
    "reservedTokens": ("reserved_tokens",),
}
"""Where an event keeps the prompt data of the specification."""

_PROVIDER_KINDS = {"openai-compatible": "openai"}

_INSERTIONS = {
    "IN_LORE_BLOCK": mg.Insertion.LORE_BLOCK,
    "BEFORE_USER_PROMPT": mg.Insertion.BEFORE_USER_PROMPT,
}
_INSERTION_NAMES = {insertion: name for name, insertion in _INSERTIONS.items()}

TURN_FIELDS = ("scene_setting", "pov_character", "present_characters", "instructions")

_PART_FIELDS = {
    "text": "text",
    "token_count": "tokens",
    "word_count": "words",
    "reasoning": "reasoning",
    "reasoning_token_count": "reasoning_tokens",
    "model_used": "model",
    "protocol_used": "protocol",
    "prompt_tokens": "prompt_tokens",
    "background_lore": "background_lore",
    "local_variables": "variables",
    "attributes": "attributes",
    "images": "images",
    "edited": "edited",
    "request_time": "request_time",
    "first_token_time": "first_token_time",
    "reasoning_end_time": "reasoning_end_time",
}

PROMPT_FIELDS = (
    "master_template",
    "user_prompt",
    "pov",
    "tense",
    "style",
    "summary_prompt",
    "meta_summary_prompt",
)


def provider_kind(raw: Json) -> str:
    """The product's word for a type of provider; one that it does not know stays as it is."""
    kind = raw.get("type") or "openai"
    return _PROVIDER_KINDS.get(kind, kind)


def turn(raw: Json | None) -> mg.Turn:
    """The turn of an operation."""
    return mg.Turn(**{name: (raw or {}).get(name) for name in TURN_FIELDS})


def prompts(raw: Json | None, into: mg.Prompts | None = None) -> mg.Prompts:
    """The prompts among the fields of a book or of the user's settings."""
    given = {name: raw[name] for name in PROMPT_FIELDS if raw is not None and name in raw}
    return replace(into or mg.Prompts(), **given)


def entry_fields(raw: Json) -> dict[str, Any]:
    """The fields of a lore entry, those that *raw* has."""
    names = ("name", "payload", "enabled", "ordinal")
    found: dict[str, Any] = {name: raw[name] for name in names if name in raw}
    found |= {name: tuple(raw[name]) for name in ("tags", "negative_tags") if name in raw}
    if "comment" in raw:
        found["note"] = raw["comment"] or ""
    if raw.get("insertion"):
        found["insertion"] = _INSERTIONS[raw["insertion"]]
    if "filter" in raw:
        found["filter"] = _filter(raw["filter"], raw.get("filter_mode"))
    return found


def _filter(text: str | None, mode: str | None) -> mg.TextFilter | mg.RegexFilter | None:
    if text is None:
        return None
    return mg.RegexFilter(text) if mode == "REGEX" else mg.TextFilter(text)


def described_entry(entry: mg.Entry) -> dict[str, Any]:
    """An entry in the words of the cases."""
    regex = isinstance(entry.filter, mg.RegexFilter)
    text = (
        entry.filter.pattern
        if isinstance(entry.filter, mg.RegexFilter)
        else entry.filter and entry.filter.text
    )
    return {
        "name": entry.name,
        "payload": entry.payload,
        "comment": entry.note or None,
        "enabled": entry.enabled,
        "ordinal": entry.ordinal,
        "filter": text,
        "filter_mode": "REGEX" if regex else "TEXT",
        "insertion": _INSERTION_NAMES.get(entry.insertion, str(entry.insertion)),
        "tags": list(entry.tags),
        "negative_tags": list(entry.negative_tags),
    }


def time(raw: str | None, now: datetime) -> datetime | None:
    """A time of a case: ISO text, or ``now`` with an offset such as ``now-3h``."""
    if raw is None:
        return None
    if not raw.startswith("now"):
        return datetime.fromisoformat(raw)
    offset = raw[3:].strip()
    units = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
    return now + timedelta(**{units[offset[-1]]: float(offset[:-1])}) if offset else now


def stored_part(part: mg.Part, raw: Json, now: datetime) -> mg.Part:
    """*part* with every stored field that *raw* gives."""
    changes: dict[str, Any] = {}
    for name, field in _PART_FIELDS.items():
        if name in raw:
            changes[field] = _stored(name, raw[name], now)
    given_turn = {name: raw[name] for name in TURN_FIELDS if name in raw}
    return replace(part, turn=replace(part.turn, **given_turn), **changes)


def receipt(raw: Json) -> Receipt | None:
    """What a given part was written from, if the case says it."""
    if "built_prompt" not in raw:
        return None
    sent = tuple(mg.Message(role=role, content=content) for role, content in raw["built_prompt"])
    return Receipt(
        run_id="given", request="new", messages=sent, prompt_tokens=raw.get("built_prompt_tokens", 0)
    )


def _stored(name: str, value: Value, now: datetime) -> Value:
    if name.endswith("_time"):
        return time(value, now)
    if name == "images":
        return tuple(value)
    if name in {"prompt_tokens", "edited"}:
        return value
    return value if value is not None else ({} if name in {"local_variables", "attributes"} else "")


def described_part(part: mg.Part) -> dict[str, Any]:
    """A stored part in the words of the cases."""
    found: dict[str, Any] = {name: getattr(part, field) for name, field in _PART_FIELDS.items()}
    found |= {name: getattr(part.turn, name) for name in TURN_FIELDS}
    found["images"] = list(part.images)
    first, ended = part.first_token_time, part.reasoning_end_time
    if first is not None and ended is not None:
        found["reasoning_end_minus_first_token"] = (ended - first).total_seconds()
    return found


def messages(found: tuple[mg.Message, ...]) -> list[list[str]]:
    """Messages as the cases write them: role and content."""
    return [[str(each.role), each.content] for each in found]
