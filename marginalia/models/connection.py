"""Where a model is and how it is asked, as forms edit them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import param

from marginalia.models.base import Model, chosen, shown, text_or_none
from marginalia.values import NOTHING, Protocol, Provider, Sampling

_UNSENT = "Empty: not sent, so that the server's own default holds."

#: Fields of the form for what a server takes, yes or no, and under which key it stands in ``Provider.settings``.
LEARNED: Mapping[str, str] = {
    "takes_stream_options": "stream_options",
    "takes_reasoning_effort": "reasoning_effort",
    "system_first": "system_first",
    "alternate": "alternate",
    "drop_empty": "drop_empty",
    "starts_in_thinking": "starts_in_thinking",
}
#: All fields of the form that stand there.
SETTINGS: Mapping[str, str] = {
    "first_token": "first_token_timeout",
    "exact_counts": "exact_counts",
    "takes_limit": "limit",
    **LEARNED,
}


class JsonObject(param.String):  # type: ignore[type-arg] # pyright: ignore[reportMissingTypeArgument] - only stubs take one
    """A text that is a JSON object, or empty; what is wrong with any other is said in a sentence."""

    def _validate_value(self, value: Any, allow_None: bool) -> None:  # noqa: ANN401, FBT001, N803 - param's own signature
        super()._validate_value(value, allow_None)
        read_object(value)


def read_object(text: str) -> Mapping[str, Any]:
    """The object that *text* writes down, empty for an empty text; raises ``ValueError`` with a sentence."""
    if not text.strip():
        return NOTHING
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ValueError(f"This is no JSON: {error}.") from error
    if not isinstance(found, dict):
        raise ValueError('This has to be an object, like {"min_p": 0.05}.')  # noqa: TRY004 - a form shows ValueErrors
    return cast("dict[str, Any]", found)


def _three(label: str, doc: str) -> param.Selector[bool | None]:
    return param.Selector(default=None, objects=[None, True, False], label=label, doc=doc)


class ProviderModel(Model):
    """A provider: address, model, key reference, sizes. The key itself never stands here."""

    named = True

    name = param.String(default="", constant=False, label="Name", doc="What you call this connection.")
    base_url = param.String(
        default="",
        label="Address",
        doc="Of an OpenAI-compatible server, up to and including /v1. For instance http://127.0.0.1:8080/v1.",
    )
    model = param.String(default="", label="Model", doc="The model's name, exactly as the server calls it.")
    max_context = param.Integer(
        default=None,
        allow_None=True,
        bounds=(1, None),
        label="Context",
        doc="How many tokens the model reads and writes at once, in all.",
    )
    max_response = param.Integer(
        default=None,
        allow_None=True,
        bounds=(1, None),
        label="Answer",
        doc="How many of these tokens are kept for the answer.",
    )
    needs_jailbreak = param.Boolean(
        default=False, label="Opening message", doc="Put the text below before everything else."
    )
    jailbreak = param.String(default="", label="Opening text", doc="Sent first when the box above is ticked.")
    first_token = param.Number(
        default=None,
        allow_None=True,
        bounds=(0, None),
        inclusive_bounds=(False, True),
        label="First token",
        doc="Seconds until the answer begins; a long prompt takes minutes to read. Empty: as the next field, else 900.",
    )
    timeout = param.Number(
        default=None,
        allow_None=True,
        bounds=(0, None),
        inclusive_bounds=(False, True),
        label="Silence",
        doc="Seconds without anything new after which an answer counts as lost. Empty: 300.",
    )
    exact_counts: param.Selector[bool | None] = param.Selector(
        default=None,
        objects=[None, True, False],
        label="Exact token counts",
        doc="Have the server count tokens while you write; it is sent your drafts. Near: this machine and its network.",
    )
    additional: JsonObject = JsonObject(
        default="",
        label="Additional parameters",
        doc='A JSON object that is sent with every request and wins over everything else, like {"min_p": 0.05}.',
    )
    takes_limit: param.Selector[str | None] = param.Selector(
        default=None,
        objects=[None, "max_completion_tokens", "max_tokens"],
        label="Name of the limit",
        doc="How the longest answer is told to the server.",
    )
    takes_stream_options = _three("Usage in the stream", "Ask what an answer cost (stream_options).")
    takes_reasoning_effort = _three("Takes the effort", "Send reasoning_effort when reasoning is on.")
    system_first = _three("System messages first", "Send later system messages as the user's.")
    alternate = _three("Roles alternate", "Merge neighbouring messages of one role, and begin with the user.")
    drop_empty = _three("No empty messages", "Leave out messages without text.")
    starts_in_thinking = _three(
        "Answers begin with reasoning", "Read an answer as reasoning until its </think>."
    )
    enable_reasoning = param.Boolean(
        default=False, label="Reasoning", doc="Ask the model to think before it writes."
    )
    reasoning_effort: param.Selector[str] = param.Selector(
        default="",
        objects=["", "minimal", "low", "medium", "high"],
        label="Effort",
        doc="How long it may think, for models that can be told. Empty: not sent.",
    )

    def take(self, provider: Provider) -> None:
        """Show *provider*."""
        self.param["reasoning_effort"].objects = list(
            dict.fromkeys(["", "minimal", "low", "medium", "high", shown(provider.reasoning_effort)])
        )
        self.param.update(
            name=provider.name,
            base_url=provider.base_url,
            model=provider.model,
            max_context=provider.max_context,
            max_response=provider.max_response,
            needs_jailbreak=provider.needs_jailbreak,
            jailbreak=shown(provider.jailbreak),
            timeout=provider.timeout,
            additional=_as_text(provider.additional_parameters),
            enable_reasoning=provider.enable_reasoning,
            reasoning_effort=shown(provider.reasoning_effort),
        )
        for name, key in SETTINGS.items():
            self._take_setting(name, provider.settings.get(key))

    def _take_setting(self, name: str, value: object) -> None:
        """Show a setting; one that no form could have made is shown as not set."""
        try:
            setattr(self, name, value)
        except (ValueError, TypeError):
            setattr(self, name, None)

    def freeze(self, provider: Provider) -> Provider:
        """*provider* with what was typed here."""
        return replace(
            provider,
            name=self.name.strip(),
            base_url=self.base_url.strip(),
            model=self.model.strip(),
            max_context=self.max_context,
            max_response=self.max_response,
            needs_jailbreak=self.needs_jailbreak,
            jailbreak=text_or_none(self.jailbreak),
            timeout=self.timeout,
            additional_parameters=read_object(chosen(self, "additional")),
            settings=self._settings(provider.settings),
            enable_reasoning=self.enable_reasoning,
            reasoning_effort=text_or_none(chosen(self, "reasoning_effort")),
        )

    def _settings(self, kept: Mapping[str, Any]) -> Mapping[str, Any]:
        others = {key: value for key, value in kept.items() if key not in SETTINGS.values()}
        mine = {key: getattr(self, name) for name, key in SETTINGS.items()}
        return others | {key: value for key, value in mine.items() if value is not None}


def _as_text(parameters: Mapping[str, Any]) -> str:
    return json.dumps(dict(parameters), ensure_ascii=False, indent=2) if parameters else ""


class ProtocolModel(Model):
    """A protocol: sampling, and limits that win over the provider's."""

    named = True

    name = param.String(default="", constant=False, label="Name", doc="What you call this way of asking.")
    temperature = param.Number(
        default=None,
        allow_None=True,
        bounds=(0, 2),
        step=0.05,
        label="Temperature",
        doc=f"Low: the likely word. High: surprises. {_UNSENT}",
    )
    top_p = param.Number(
        default=None,
        allow_None=True,
        bounds=(0, 1),
        step=0.01,
        label="Top p",
        doc=f"Only the likeliest words that make up this share are drawn from. {_UNSENT}",
    )
    frequency_penalty = param.Number(
        default=None,
        allow_None=True,
        bounds=(-2, 2),
        step=0.05,
        label="Frequency penalty",
        doc=f"Pushes words away the more often they came. {_UNSENT}",
    )
    presence_penalty = param.Number(
        default=None,
        allow_None=True,
        bounds=(-2, 2),
        step=0.05,
        label="Presence penalty",
        doc=f"Pushes words away that came at all. {_UNSENT}",
    )
    max_tokens = param.Integer(
        default=None,
        allow_None=True,
        bounds=(1, None),
        label="Context",
        doc="Tokens in all; wins over the model's own figure. Empty: the model's.",
    )
    reply_tokens = param.Integer(
        default=None,
        allow_None=True,
        bounds=(1, None),
        label="Answer",
        doc="Tokens kept for the answer; wins over the model's own figure. Empty: the model's.",
    )

    def take(self, protocol: Protocol) -> None:
        """Show *protocol*."""
        sampling = protocol.sampling
        self.param.update(
            name=protocol.name,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            frequency_penalty=sampling.frequency_penalty,
            presence_penalty=sampling.presence_penalty,
            max_tokens=protocol.max_tokens,
            reply_tokens=protocol.reply_tokens,
        )

    def freeze(self, protocol: Protocol) -> Protocol:
        """*protocol* with what was typed here."""
        sampling = Sampling(
            temperature=self.temperature,
            top_p=self.top_p,
            frequency_penalty=self.frequency_penalty,
            presence_penalty=self.presence_penalty,
        )
        return replace(
            protocol,
            name=self.name.strip(),
            sampling=sampling,
            max_tokens=self.max_tokens,
            reply_tokens=self.reply_tokens,
        )
