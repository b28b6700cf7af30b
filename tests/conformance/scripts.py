"""The model's scripted answers of one operation, and the requests that came in for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from marginalia.testing import Answer, Recorded, Refuse, Status, answer_from
from marginalia.testing.server import Script

if TYPE_CHECKING:
    from tests.conformance.case import Json
    from tests.conformance.world import World

_UNSCRIPTED = Status(418, {"error": {"message": "the case has no answer left"}})


def script_answers(world: World, op: Json, requests: list[Recorded]) -> None:
    """Give the answers of *op* from now on; every completion request is appended to *requests*."""

    def answering(answer: Answer) -> Script:
        if isinstance(answer, Refuse):
            return answer  # the server must see it to close its door
        return lambda request: _noted(request, answer)

    def _noted(request: Recorded, answer: Answer) -> Answer:
        requests.append(request)
        return answer

    world.server.default = lambda request: _noted(request, _UNSCRIPTED)
    world.server.script(*(answering(answer_from(each)) for each in op.get("model") or ()))
