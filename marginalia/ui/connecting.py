"""Connecting a model: keeping its key where keys belong, and trying whether it answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from marginalia.errors import ModelError
from marginalia.inference.local import LocalStatus
from marginalia.values import NOTHING

if TYPE_CHECKING:
    from marginalia.inference.probe import ConnectionReport
    from marginalia.pipeline.run import Run
    from marginalia.studio import Studio
    from marginalia.values import Provider

UNCONNECTED = (
    "Any server that speaks the OpenAI way will do: llama.cpp, Ollama, LM Studio, vLLM, or a service on the net. "
    "Its address ends with /v1. Nothing is sent before you press a button; only a saved server on your own "
    "machine or network is also asked to count tokens while you write."
)
_FEW = 8
_LONGEST_TEST = 60.0


def save_provider(studio: Studio, provider: Provider, key: str) -> Provider:
    """Store *provider*; a key that was typed goes to the key store, never into the database. Blocks."""
    if not provider.id:
        made = studio.providers.create(name=provider.name, base_url=provider.base_url, model=provider.model)
        provider = replace(provider, id=made.id, uid=made.uid, owner=made.owner, created=made.created)
    if key:
        reference = provider.key_ref or f"provider-{provider.uid or provider.id}"
        studio.keys.set(reference, key)
        provider = replace(provider, key_ref=reference)
    return studio.providers.save(provider)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """What a connection test found: a sentence, facts below it, the models to choose from, and figures to fill in."""

    ok: bool
    text: str
    facts: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    found: Mapping[str, str | int] = NOTHING

    def answer(self) -> dict[str, Any]:
        """What the form is told."""
        return {
            "ok": self.ok, "text": self.text, "facts": list(self.facts), "offer": {"model": list(self.models)},
            "put": dict(self.found),
        }  # fmt: skip


async def try_connection(studio: Studio, provider: Provider, key: str) -> Tested:
    """Ask the server for its models and for one token. Raises ``ModelError`` when it has not even a list."""
    reference = f"trying-{uuid4().hex}" if key else ""
    if key:
        await asyncio.to_thread(studio.keys.set, reference, key)
        provider = replace(provider, key_ref=reference)
    try:
        async with asyncio.timeout(_LONGEST_TEST):
            return await _test(studio, provider)
    except TimeoutError:
        return Tested(
            ok=False,
            text=f"It did not answer within {_LONGEST_TEST:.0f} seconds. It may be loading the model; try again.",
        )
    finally:
        if key:
            await asyncio.to_thread(studio.keys.forget, reference)


async def _test(studio: Studio, provider: Provider) -> Tested:
    listed = await studio.models.list_models(provider)
    found: dict[str, str | int] = {}
    if not provider.model and len(listed) == 1:
        found["model"] = listed[0]
        provider = replace(provider, model=listed[0])
    elif not provider.model and listed:
        text = f"It answers and lists {len(listed):,} models. Choose one, then test again."
        return Tested(ok=True, text=text, facts=(_some(listed),), models=listed)
    try:
        report = await studio.models.probe(provider)
    except ModelError as error:
        if not listed:
            raise
        return Tested(ok=False, text=str(error), facts=(_some(listed),), models=listed)
    if report.context is not None:
        found["max_context"] = report.context
    return Tested(
        ok=True, text="It answers.", facts=tuple(_facts(report, provider)), models=listed, found=found
    )


def _facts(report: ConnectionReport, provider: Provider) -> Iterator[str]:
    yield _some(report.models) if report.models else "It has no list of models."
    yield f"It wrote one token as “{provider.model}”." if provider.model else "It wrote one token."
    if report.context is None:
        yield "It does not tell how long its context is: look it up and enter it."
    else:
        yield f"Its context is {report.context:,} tokens ({report.context_source})."
    if report.counting_texts:
        yield f"It counts tokens exactly: {report.counting_texts}."
    else:
        yield "It does not count tokens: they are estimated, and corrected by what it reports with its answers."
    yield from (f"Learned: {each}" for each in report.learned)


def _some(models: tuple[str, ...]) -> str:
    if len(models) == 1:
        return f"It has one model: {models[0]}."
    return f"It lists {len(models):,} models: {', '.join(models[:_FEW])}{'…' if len(models) > _FEW else '.'}"


def model_state(studio: Studio, provider: Provider | None, run: Run | None) -> dict[str, str]:
    """How a model is: ``kind`` for the dot (none, idle, starting, ready, failed), a short word, a sentence."""
    if provider is None:
        return {"kind": "none", "short": "", "text": "This book has no model."}
    if provider.kind == "bundled":
        return _local_state(studio)
    if run is not None and isinstance(run.error, ModelError):
        return {"kind": "failed", "short": "", "text": run.error.text}
    if run is not None and run.text:
        return {"kind": "ready", "short": "", "text": "It answered."}
    return {"kind": "idle", "short": "", "text": "Not asked yet."}


def _local_state(studio: Studio) -> dict[str, str]:
    local = studio.models.local
    match local.status:
        case LocalStatus.ABSENT:
            return {"kind": "failed", "short": "not installed", "text": local.why_absent()}
        case LocalStatus.STARTING:
            return {"kind": "starting", "short": "starting…", "text": "The bundled model is starting."}
        case LocalStatus.READY:
            return {
                "kind": "ready",
                "short": "",
                "text": f"The bundled model is ready. {local.where_log}".strip(),
            }
        case LocalStatus.FAILED:
            return {
                "kind": "failed",
                "short": "failed",
                "text": f"The bundled model ended. The next Generate starts it anew. {local.where_log}".strip(),
            }
        case LocalStatus.STOPPED:
            return {"kind": "idle", "short": "", "text": "The bundled model starts with the first Generate."}
