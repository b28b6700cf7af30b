"""Reading an answer: bytes of a response's body in, chunks and an ending out. No I/O, so it can be cut at any byte."""

from __future__ import annotations

from collections.abc import Iterator

from marginalia.errors import ModelError, ModelErrorKind
from marginalia.inference.errors import LONGEST_DETAIL, from_payload, model_error
from marginalia.inference.sse import Event, EventDecoder
from marginalia.inference.thinking import Kind, Surrogates, Thinking, late_split
from marginalia.inference.wire import Reading, read_payload, told_last
from marginalia.pipeline.ports import Arrival, Chunk, Ending, Progress
from marginalia.values import Usage

_UNMARKED = (
    "This answer began with reasoning that the server does not mark as such. "
    "Switch on “answers begin with reasoning” in the provider's settings, so that the next one is told apart."
)
_HTML_START = b"<"
_SPACE = b" \t\r\n\xef\xbb\xbf"


class AnswerReader:
    """Reads the body of one successful response, streamed or not.

    Give it every piece with :meth:`feed`, then call :meth:`end`; both yield arrivals and raise :class:`ModelError`
    where the answer fails, after everything that came before. ``done`` tells that nothing more needs to be read.
    ``text``, ``reasoning``, ``refusal`` and ``finish`` hold what came, ``broken`` counts events that could not be read.
    """

    def __init__(self, *, starts_in_thinking: bool = False) -> None:
        self._decoder = EventDecoder()
        self._thinking = Thinking(inside=starts_in_thinking)
        self._halves: dict[Kind, Surrogates] = {"reasoning": Surrogates(), "text": Surrogates()}
        self._pieces: dict[Kind, list[str]] = {"reasoning": [], "text": []}
        self._sniffed = False
        self.finish = ""
        self._usage: Usage | None = None
        self._message = ""
        self._understood = self._whole = self._delta_text = self._failed = False
        self.done = False
        self.refusal = ""
        self.broken = 0

    @property
    def text(self) -> str:
        """The text of the answer so far."""
        return "".join(self._pieces["text"])

    @property
    def reasoning(self) -> str:
        """The reasoning so far."""
        return "".join(self._pieces["reasoning"])

    @property
    def started(self) -> bool:
        """Whether anything of the answer came, so that asking again would write it twice."""
        return bool(self._pieces["text"] or self._pieces["reasoning"])

    @property
    def begun(self) -> bool:
        """Whether the server sent anything at all, so that it is at work or has been."""
        return self._understood or self.started

    @property
    def finished(self) -> bool:
        """Whether the server said that the answer is complete, by a finish reason or the end mark."""
        return not self._failed and (self.done or self._whole or bool(self.finish))

    @property
    def closed_late(self) -> tuple[str, str] | None:
        """Reasoning and text of an answer whose template had opened ``<think>`` unseen; ``None`` for any other."""
        return None if self.reasoning else late_split(self.text)

    def feed(self, data: bytes) -> Iterator[Arrival]:
        """What *data* brings."""
        if self.done:
            return
        self._sniff(data)
        for event in self._decoder.feed(data):
            yield from self._event(event)
            if self.done:
                return

    def end(self) -> Iterator[Arrival]:
        """What was held back, then the :class:`Ending`; raises when the answer was cut off or is none."""
        if not self.done:
            for event in self._decoder.flush():
                yield from self._event(event)
        yield from self.rest()
        self._check_complete()
        if self.closed_late is not None:
            yield Progress(text=_UNMARKED)
        yield Ending(finish_reason=self.finish, usage=self._usage)

    def rest(self) -> Iterator[Arrival]:
        """The text that was held back because it might have become a tag or a whole character."""
        if self._message and not self._delta_text:
            message, self._message = self._message, ""
            yield from self._text(message)
        for kind, piece in self._thinking.flush():
            yield from self._chunk(kind, piece)
        for kind, halves in self._halves.items():
            yield from self._show(kind, halves.flush())

    def _check_complete(self) -> None:
        if self.finish == "error":
            raise model_error(ModelErrorKind.SERVER)
        if self.refusal and not self.started:
            raise refused(self.refusal)
        if self.finished:
            return
        if self.broken and not self._understood:
            raise ModelError(
                ModelErrorKind.SERVER,
                "The server's answer cannot be read: it is no chat completion stream. Check the address of the model.",
            )
        raise broken_off()

    def _sniff(self, data: bytes) -> None:
        if self._sniffed:
            return
        if begun := data.lstrip(_SPACE):
            self._sniffed = True
            if begun.startswith(_HTML_START):
                raise model_error(ModelErrorKind.NOT_FOUND, "The server answered with a web page.")

    def _event(self, event: Event) -> Iterator[Arrival]:
        if event.kind == "done":
            self.done = True
        elif event.kind == "broken":
            self.broken += 1
        elif event.kind == "error":
            yield from self._fail(event.value)
        else:
            yield from self._payload(read_payload(event.value))

    def _payload(self, reading: Reading) -> Iterator[Arrival]:
        self._understood = True
        self._whole = self._whole or reading.whole
        self.finish = reading.finish or self.finish
        self._usage = told_last(self._usage, reading.usage)
        self._message = reading.message or self._message
        self.refusal += reading.refusal
        if reading.progress is not None:
            done, total = reading.progress
            yield Progress(text="reading the prompt", done=done, total=total)
        if reading.reasoning:
            yield from self._chunk("reasoning", reading.reasoning)
        if reading.text:
            self._delta_text = True
            yield from self._text(reading.text)
        if reading.error is not None:
            yield from self._fail(reading.error)

    def _fail(self, content: object) -> Iterator[Arrival]:
        self._failed = True
        yield from self.rest()
        raise from_payload(content)

    def _text(self, text: str) -> Iterator[Arrival]:
        for kind, piece in self._thinking.feed(text):
            yield from self._chunk(kind, piece)

    def _chunk(self, kind: Kind, text: str) -> Iterator[Arrival]:
        return self._show(kind, self._halves[kind].feed(text))

    def _show(self, kind: Kind, text: str) -> Iterator[Arrival]:
        if text:
            self._pieces[kind].append(text)
            yield Chunk(kind, text)


def broken_off() -> ModelError:
    """The error for an answer that stopped in its middle."""
    return ModelError(
        ModelErrorKind.CONNECTION,
        "The connection to the server broke off before the answer was complete. What arrived is kept.",
    )


def refused(words: str) -> ModelError:
    """The error for an answer that is only a refusal."""
    return ModelError(
        ModelErrorKind.UNKNOWN,
        "The model refused to write this. Change the instructions, or take another model.",
        detail=words.strip()[:LONGEST_DETAIL],
    )
