"""The form of a provider: presets, the server's own list of models, what was learned about it; and taking it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from marginalia.inference.dialect import Dialect
from marginalia.inference.presets import PRESETS, KeyWanted, Preset
from marginalia.models import ProviderModel
from marginalia.models.connection import LEARNED
from marginalia.ui.connecting import save_provider, try_connection
from marginalia.ui.forms import described, fill
from marginalia.ui.work import aside
from marginalia.values import Provider

if TYPE_CHECKING:
    from marginalia.studio import Studio
    from marginalia.ui.desk import Desk

_BASIC = ("name", "base_url", "model", "max_context", "max_response")
_GROUPS = {
    "Reasoning and opening text": ("enable_reasoning", "reasoning_effort", "needs_jailbreak", "jailbreak"),
    "Time and counting": ("first_token", "timeout", "exact_counts"),
    "What this server takes, learned from its refusals or set by hand": (
        "additional", "takes_limit", "takes_stream_options", "takes_reasoning_effort", "system_first", "alternate",
        "drop_empty", "starts_in_thinking",
    ),
}  # fmt: skip
_KEY = {
    "name": "key", "label": "Key", "kind": "secret", "wide": True,
    "doc": "The API key, if the server wants one. It is kept outside the database and never shown again.",
}  # fmt: skip
_WANTS = {
    KeyWanted.NO: "It wants no key.",
    KeyWanted.MAYBE: "It wants a key only if it was started with one.",
    KeyWanted.YES: "It wants a key.",
}


def provider_fields(studio: Studio, provider: Provider) -> list[dict[str, Any]]:
    """The fields of the form; a provider that is not stored yet is offered presets."""
    model = ProviderModel()
    model.take(provider)
    if provider.kind == "bundled":
        return described(model, only=("name", "max_context", "max_response"))
    learned = studio.models.client.learned.get((provider.base_url, provider.model))
    fields = described(model, only=_BASIC, wide=("name", "base_url"))
    fields[2] |= {"kind": "combo", "options": []}
    fields.insert(2, _KEY | {"value": bool(provider.key_ref)})
    if not provider.id:
        fields.insert(0, _presets(studio))
    for group, names in _GROUPS.items():
        inside = described(
            model, only=names, wide=("additional",), areas=("jailbreak",), choices=_choices(learned)
        )
        fields += [field | {"group": group} for field in inside]
    return fields


def _choices(learned: Dialect | None) -> dict[str, list[tuple[Any, str]]]:
    """What may be chosen; the first of each says what holds as long as nothing is chosen."""
    now, how = learned or Dialect(), "usual" if learned is None else "learned"
    choices: dict[str, list[tuple[Any, str]]] = {
        "takes_limit": [
            (None, f"{how}: {now.limit}"),
            ("max_completion_tokens", "max_completion_tokens"),
            ("max_tokens", "max_tokens"),
        ],
        "exact_counts": [
            (None, "if it is near"),
            (True, "yes"),
            (False, "no: estimate"),
        ],
    }
    for field, name in LEARNED.items():
        known = "yes" if getattr(now, name) else "no"
        choices[field] = [(None, f"{how}: {known}"), (True, "yes"), (False, "no")]
    return choices


def _presets(studio: Studio) -> dict[str, Any]:
    allowed = [each for each in PRESETS if studio.models.client.hosts.refusal(each.base_url) is None]
    return {
        "name": "preset", "label": "Server", "kind": "preset", "wide": True, "value": "",
        "doc": "Fills in what is usual for a known server. Any other that speaks the OpenAI way will do, too.",
        "options": [["", "choose a known server…"], *([each.name, each.name] for each in allowed)],
        "presets": {each.name: {"note": f"{_WANTS[each.key]} {each.note}", "sets": _sets(each)} for each in allowed},
    }  # fmt: skip


def _sets(preset: Preset) -> dict[str, str]:
    told = {"takes_limit": preset.settings.get("limit", "")}
    for field, name in LEARNED.items():
        value = preset.settings.get(name)
        told[field] = "" if value is None else str(value).lower()
    return {"name": preset.name, "base_url": preset.base_url, **told}


async def submit_provider(desk: Desk, values: dict[str, Any], record: int, action: str) -> dict[str, Any]:
    """Save, test, or forget what was learned; ``ok`` with a text, or ``errors`` by field."""
    studio, model = desk.studio, ProviderModel()
    key = str(values.pop("key", "")).strip()
    provider = await aside(studio.providers.get, record) if record else Provider()
    if action == "forget":
        await studio.models.forget(provider)
        return {"ok": True, "text": "Forgotten. The next request is sent as if for the first time."}
    model.take(provider)
    if errors := _wrong(model, values, testing=action == "test"):
        return errors
    wanted = model.freeze(provider)
    if wanted.kind != "bundled" and not wanted.base_url:
        return {"ok": False, "text": "", "errors": {"base_url": "A model needs an address."}}
    if action == "test":
        return (await try_connection(studio, wanted, key)).answer()
    saved = await aside(save_provider, studio, wanted, key)
    await desk.refresh_library()
    if not record:
        await desk.choose(provider=saved.id)
    await desk.refresh()
    return {"ok": True, "text": "Saved.", "close": not record}


def provider_actions(studio: Studio, provider: Provider) -> list[list[str]]:
    """What can be done beside saving."""
    if provider.kind == "bundled":
        return []
    actions = [["test", "Test connection"]]
    if (provider.base_url, provider.model) in studio.models.client.learned:
        actions.append(["forget", "Forget what was learned"])
    return actions


def _wrong(model: ProviderModel, values: dict[str, Any], *, testing: bool) -> dict[str, Any]:
    errors = fill(model, values)
    if not errors and not testing and not model.name.strip():
        errors = {"name": "It needs a name."}
    text = "" if testing else "Nothing was saved yet."
    return {"ok": False, "text": text, "errors": errors} if errors else {}
