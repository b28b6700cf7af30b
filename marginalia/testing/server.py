"""A model server on loopback that answers by script and remembers what it was asked."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from types import TracebackType
from typing import Any, Self, TypeAlias, TypeVar

from marginalia.testing.answers import Answer, Refuse, Status
from marginalia.testing.exchange import Recorded, give, read_request
from marginalia.testing.words import WordTokenizer
from marginalia.values import Provider

Script: TypeAlias = Answer | Callable[[Recorded], Answer]
T = TypeVar("T")

_NOTHING_LEFT = Status(418, {"error": {"message": "The script of this server has no answer left."}})
_NO_SUCH_PATH = Status(
    404, {"error": {"message": "The scripted server has no such path.", "type": "not_found_error"}}
)


class ScriptedServer:
    """An OpenAI-compatible server that gives the scripted answers, one per chat completion, in their order.

    It runs in a thread of its own; use it with ``with`` or ``async with``, or call :meth:`start` and
    :meth:`stop`. An entry of the script may be a function from the request to the answer. A completion without
    an answer left gets ``default``, or status 418, and is counted in ``unexpected``. ``models`` are the ids
    that ``/models`` lists, or a :class:`Status` that it fails with; ``context`` is the context length that
    ``/props`` tells; ``counts_tokens`` offers llama.cpp's counting endpoints, one token per word.
    """

    def __init__(
        self,
        answers: Iterable[Script] = (),
        *,
        models: Sequence[str] | Status = ("scripted",),
        default: Script | None = None,
        context: int | None = None,
        counts_tokens: bool = False,
    ) -> None:
        self.models = models
        self.default = default
        self.context = context
        self.counts_tokens = counts_tokens
        self.requests: list[Recorded] = []
        self.unexpected = 0
        self.port = 0
        self._answers: deque[Script] = deque(answers)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._listener: asyncio.Server | None = None
        self._exchanges: set[asyncio.Task[None]] = set()

    @property
    def base_url(self) -> str:
        """The address to give to a provider; it stays the same while the server lives."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def completions(self) -> list[Recorded]:
        """The requests for chat completions, oldest first."""
        return [each for each in self.requests if each.path.endswith("/chat/completions")]

    def provider(self, **values: Any) -> Provider:  # noqa: ANN401 - the fields of Provider
        """A provider that points here; *values* are further fields of it."""
        known: dict[str, Any] = {"name": "Scripted", "base_url": self.base_url, "model": "scripted"}
        return Provider(**(known | values))

    def script(self, *answers: Script) -> None:
        """Forget the answers that were not given yet, and give these from now on."""
        self._answers = deque(answers)
        if self._loop is not None:
            self._run(self._open_or_close_the_door())

    def start(self) -> Self:
        """Begin to listen, on a free port."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="scripted-server", daemon=True)
        self._thread.start()
        self._run(self._listen())
        self._run(self._open_or_close_the_door())
        return self

    def stop(self) -> None:
        """Stop listening and close what is open; does nothing when the server does not run."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        self._run(self._shut_down())
        self._loop = self._thread = None
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        assert self._loop is not None, "the server was not started"  # noqa: S101 - a mistake in a test
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _listen(self) -> None:
        self._listener = await asyncio.start_server(self._connected, "127.0.0.1", self.port, limit=1 << 24)
        self.port = self._listener.sockets[0].getsockname()[1]

    async def _open_or_close_the_door(self) -> None:
        refuse = bool(self._answers) and isinstance(self._answers[0], Refuse)
        if refuse and self._listener is not None:
            self._listener.close()
            self._listener = None
        elif not refuse and self._listener is None:
            await self._listen()

    async def _shut_down(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        for task in self._exchanges:
            task.cancel()
        await asyncio.gather(*self._exchanges, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._exchange(reader, writer))
        self._exchanges.add(task)
        task.add_done_callback(self._exchanges.discard)

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await read_request(reader)
            if request is not None:
                self.requests.append(request)
                answer = self._answer(request)
                await self._open_or_close_the_door()
                await give(answer, request, reader, writer)
        finally:
            writer.close()

    def _answer(self, request: Recorded) -> Answer:
        path = request.path.partition("?")[0].removeprefix("/v1")
        if path == "/chat/completions" and request.method == "POST":
            return self._next_answer(request)
        if path == "/models":
            return (
                self.models if isinstance(self.models, Status) else Status(200, self._model_list(self.models))
            )
        if path == "/props" and self.context is not None:
            return Status(200, {"default_generation_settings": {"n_ctx": self.context}, "total_slots": 1})
        if self.counts_tokens and request.method == "POST":
            return self._token_count(path, request)
        return _NO_SUCH_PATH

    def _next_answer(self, request: Recorded) -> Answer:
        script = self._answers.popleft() if self._answers else self.default
        if script is None:
            self.unexpected += 1
            return _NOTHING_LEFT
        return script(request) if callable(script) else script

    @staticmethod
    def _model_list(models: Sequence[str]) -> dict[str, Any]:
        return {"object": "list", "data": [{"id": model, "object": "model"} for model in models]}

    @staticmethod
    def _token_count(path: str, request: Recorded) -> Status:
        count = WordTokenizer().count
        if path == "/tokenize":
            content: str | list[str | int] = request.body["content"]
            pieces = [content] if isinstance(content, str) else content
            # As llama.cpp does: numbers in a list are tokens already.
            tokens = [[each] if isinstance(each, int) else list(range(count(each))) for each in pieces]
            return Status(200, {"tokens": [token for piece in tokens for token in piece]})
        if path == "/chat/completions/input_tokens":
            number = sum(count(str(message["content"])) for message in request.body["messages"])
            return Status(200, {"input_tokens": number, "object": "response.input_tokens"})
        return _NO_SUCH_PATH
