"""Where a model is and how it is asked, as forms edit them."""

from __future__ import annotations

from dataclasses import replace

import param

from marginalia.models.base import Model, chosen, shown, text_or_none
from marginalia.values import Protocol, Provider, Sampling

_UNSENT = "Empty: not sent, so that the server's own default holds."


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
    timeout = param.Number(
        default=None,
        allow_None=True,
        bounds=(1, None),
        label="Patience",
        doc="Seconds of silence after which an answer counts as lost. Empty: the default.",
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
            enable_reasoning=provider.enable_reasoning,
            reasoning_effort=shown(provider.reasoning_effort),
        )

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
            enable_reasoning=self.enable_reasoning,
            reasoning_effort=text_or_none(chosen(self, "reasoning_effort")),
        )


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
