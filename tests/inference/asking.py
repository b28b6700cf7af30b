"""Calls, and what came of them."""

from __future__ import annotations

from marginalia.errors import ModelError
from marginalia.inference import Models
from marginalia.pipeline.ports import Arrival, Call, Chunk, Ending, Progress
from marginalia.values import Limits, Message, Protocol, Provider, Sampling

HELLO = (Message(role="system", content=""), Message(role="user", content="Go on."))


def call(
    provider: Provider, *, response: int = 500, messages: tuple[Message, ...] = HELLO, **sampling: float
) -> Call:
    protocol = Protocol(sampling=Sampling(**sampling))
    return Call(
        provider=provider,
        protocol=protocol,
        limits=Limits(context=4000, response=response),
        messages=messages,
    )


class Asked:
    """What came of a call: arrivals, and the error at its end."""

    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []
        self.error: ModelError | None = None
        self.waits: list[float] = []

    @property
    def text(self) -> str:
        return "".join(each.text for each in self.arrivals if isinstance(each, Chunk) and each.kind == "text")

    @property
    def chunks(self) -> list[tuple[str, str]]:
        return [(each.kind, each.text) for each in self.arrivals if isinstance(each, Chunk)]

    @property
    def progress(self) -> list[str]:
        return [each.text for each in self.arrivals if isinstance(each, Progress)]

    @property
    def ending(self) -> Ending:
        (found,) = (each for each in self.arrivals if isinstance(each, Ending))
        return found


async def ask(what: Call, models: Models | None = None) -> Asked:
    asked = Asked()

    async def sleep(seconds: float) -> None:
        asked.waits.append(seconds)

    models = models or Models(sleep=sleep)
    try:
        async with models.stream(what) as arrivals:
            async for arrival in arrivals:
                asked.arrivals.append(arrival)
    except ModelError as error:
        asked.error = error
    return asked
