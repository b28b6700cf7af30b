"""A part written again exactly as it was: the steps that would build a prompt give what its receipt holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from marginalia.pipeline import slots
from marginalia.pipeline.events import (
    AfterInference,
    AfterPrepareConstantData,
    AfterPrepareContent,
    AfterPrepareGeneration,
    AfterPreparePayload,
    AfterProcessLorebook,
    BeforeInference,
    BeforePrepareConstantData,
    BeforePrepareContent,
    BeforePrepareGeneration,
    BeforePreparePayload,
    BeforeProcessLorebook,
    onward,
)
from marginalia.prompt.budget import budget_of
from marginalia.prompt.context import Variables
from marginalia.prompt.exporting import without_secrets
from marginalia.prompt.receipt import Receipt
from marginalia.prompt.stages import Lore, Templates
from marginalia.story.parts import Part
from marginalia.values import Provider

if TYPE_CHECKING:
    from marginalia.pipeline.run import Run
    from marginalia.pipeline.slots import Slot, Step

ASKED = "asked"
"""The key of a receipt's ``extra`` that keeps how the provider was to answer, beside sampling and limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """A part that was written, and the receipt of what was sent for it."""

    part: Part
    receipt: Receipt


def as_it_was(
    plan: Mapping[Slot[Any, Any], Step[Any, Any]], again: Again
) -> Mapping[Slot[Any, Any], Step[Any, Any]]:
    """*plan*, with the steps 1 to 5 giving what was sent then, and step 7 sending just that, whatever listeners say."""
    receipt = again.receipt

    async def prepare(run: Run, known: BeforePrepareGeneration) -> AfterPrepareGeneration:
        made: AfterPrepareGeneration = await plan[slots.PREPARE_GENERATION](run, known)
        protocol = replace(made.protocol, sampling=receipt.sampling)
        return replace(
            made, provider=asked_provider(made.provider, receipt), protocol=protocol, limits=receipt.limits
        )

    async def infer(run: Run, known: BeforeInference) -> AfterInference:
        if run.prompt is not None:
            run.prompt = replace(run.prompt, messages=receipt.messages, segments=receipt.segments)
        sent: AfterInference = await plan[slots.INFERENCE](run, replace(known, messages=receipt.messages))
        return sent

    return {**plan, **_as_chosen(again), slots.PREPARE_GENERATION: prepare, slots.INFERENCE: infer}


def _as_chosen(again: Again) -> Mapping[Slot[Any, Any], Step[Any, Any]]:
    """Steps 2 to 5, which look nothing up any more."""
    receipt = again.receipt

    async def constants(_run: Run, known: BeforePrepareConstantData) -> AfterPrepareConstantData:
        variables = Variables(local=again.part.variables, shared=known.book.global_variables)
        return onward(
            known, AfterPrepareConstantData, templates=Templates(), user_prompt="", variables=variables
        )

    async def lore(_run: Run, known: BeforeProcessLorebook) -> AfterProcessLorebook:
        found = Lore(background=again.part.background_lore)
        return onward(known, AfterProcessLorebook, lore=found, user_prompt_tokens=0)

    async def content(_run: Run, known: BeforePrepareContent) -> AfterPrepareContent:
        budget = budget_of(receipt.shares, receipt.limits, receipt.prompt_tokens)
        return onward(
            known, AfterPrepareContent, inserts=(), summaries=(), chronicle=(), budget=budget, system_prompt=""
        )  # fmt: skip

    async def payload(_run: Run, known: BeforePreparePayload) -> AfterPreparePayload:
        return onward(known, AfterPreparePayload, messages=receipt.messages, segments=receipt.segments)

    return {
        slots.PREPARE_CONSTANTS: constants,
        slots.PROCESS_LOREBOOK: lore,
        slots.PREPARE_CONTENT: content,
        slots.PREPARE_PAYLOAD: payload,
    }


def asked_note(provider: Provider) -> Mapping[str, Any]:
    """What a receipt keeps of a provider, beside its name and model, to ask it in the same way once more."""
    return {
        "enable_reasoning": provider.enable_reasoning,
        "reasoning_effort": provider.reasoning_effort,
        "parameters": _open(provider.additional_parameters),
    }


def asked_provider(provider: Provider, receipt: Receipt) -> Provider:
    """*provider*, to answer as it was to answer then; only what may be a secret is today's, no receipt keeps it."""
    asked: Mapping[str, Any] | None = receipt.extra.get(ASKED)
    if asked is None:
        return provider
    today = provider.additional_parameters
    secret = {name: value for name, value in today.items() if name not in _open(today)}
    return replace(
        provider,
        additional_parameters={**secret, **asked.get("parameters", {})},
        enable_reasoning=bool(asked.get("enable_reasoning")),
        reasoning_effort=asked.get("reasoning_effort"),
    )


def _open(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """Those of a provider's own parameters that hold no secret."""
    return {
        name: value for name, value in parameters.items() if without_secrets({name: value}) == {name: value}
    }
