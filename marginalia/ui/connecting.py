"""Connecting a model: keeping its key where keys belong, and trying whether it answers."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

from marginalia.errors import ModelError
from marginalia.inference.local import LocalStatus

if TYPE_CHECKING:
    from marginalia.inference.probe import ConnectionReport
    from marginalia.pipeline.run import Run
    from marginalia.studio import Studio
    from marginalia.values import Provider

UNCONNECTED = (
    "Any server that speaks the OpenAI way will do: llama.cpp, Ollama, LM Studio, vLLM, or a service on the net. "
    "Its address ends with /v1. Nothing is sent anywhere before you press a button."
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


async def try_connection(studio: Studio, provider: Provider, key: str) -> str:
    """Ask the server for its models and for one token; a sentence on what was found. Raises ``ModelError``."""
    reference = f"trying-{uuid4().hex}" if key else ""
    if key:
        await asyncio.to_thread(studio.keys.set, reference, key)
        provider = replace(provider, key_ref=reference)
    try:
        async with asyncio.timeout(_LONGEST_TEST):
            return _told(await studio.models.probe(provider), provider)
    except TimeoutError:
        return (
            f"It did not answer within {_LONGEST_TEST:.0f} seconds. It may be loading the model; try again."
        )
    finally:
        if key:
            await asyncio.to_thread(studio.keys.forget, reference)


def _told(report: ConnectionReport, provider: Provider) -> str:
    parts = ["It answers."]
    if report.context:
        parts.append(f"Its context is {report.context:,} tokens ({report.context_source}).")
    if report.models and provider.model not in report.models:
        parts.append(
            "It has: " + ", ".join(report.models[:_FEW]) + ("…" if len(report.models) > _FEW else ".")
        )
    return " ".join([*parts, *report.learned])


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
            return {"kind": "ready", "short": "", "text": "The bundled model is ready."}
        case LocalStatus.FAILED:
            return {
                "kind": "failed",
                "short": "failed",
                "text": "The bundled model ended. The next Generate starts it anew.",
            }
        case LocalStatus.STOPPED:
            return {"kind": "idle", "short": "", "text": "The bundled model starts with the first Generate."}
