"""Operations on the provider: its limits and the connection test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import marginalia as mg
from marginalia.testing import Recorded, Status
from tests.conformance import observing
from tests.conformance.recorder import failure
from tests.conformance.scripts import script_answers
from tests.conformance.seen import MISSING
from tests.conformance.world import World

if TYPE_CHECKING:
    from tests.conformance.case import Json
    from tests.conformance.observing import Observers


async def token_limits(world: World, _: Json) -> Observers:
    """The limits of the book's next turn."""
    limits = world.studio.limits(world.book)
    return {
        "context": lambda: limits.context,
        "response": lambda: limits.response,
        "prompt": lambda: limits.prompt,
    }


async def test_connection(world: World, op: Json) -> Observers:
    """List the models, then ask for one token."""
    models = op.get("models")
    if isinstance(models, list):
        world.server.models = tuple(models)
    elif models is not None:
        world.server.models = Status(models["status"], {"error": {"message": models.get("message", "")}})
    requests: list[Recorded] = []
    script_answers(world, op, requests)
    found: Any = None
    error: Exception | None = None
    try:
        found = await world.studio.models.probe(world.studio.providers.get(world.book.provider_id or 0))
    except mg.ModelError as caught:
        error = caught
    error = error or getattr(found, "error", None)
    last = requests[-1] if requests else None
    return {
        "models": lambda: list(found.models) if found is not None else None,
        "requests": lambda: len(requests),
        "body": lambda: observing.Body(last and last.body, last.raw.decode() if last else ""),
        "streamed": lambda: bool(last and last.body.get("stream")),
        "error": lambda: failure(str(error), error) if error else MISSING,
    }


OPERATIONS = {"token_limits": token_limits, "test_connection": test_connection}
