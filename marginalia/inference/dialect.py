"""What a server wants differently: learned from its refusals, once per provider, or set by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeAlias

from marginalia.errors import ModelError, ModelErrorKind
from marginalia.values import Message

LimitName: TypeAlias = Literal["max_completion_tokens", "max_tokens"]
_LIMITS: tuple[LimitName, ...] = ("max_completion_tokens", "max_tokens")

_REFUSAL = re.compile(
    r"unsupported|not supported|not permitted|unexpected|unrecogni[sz]ed|unknown|extra|forbidden|not allowed|invalid",
    re.IGNORECASE,
)
_ALTERNATE = re.compile(r"roles? must alternate|must alternate", re.IGNORECASE)
_SYSTEM_FIRST = re.compile(
    r"system message must be (?:at the beginning|first)|system.{0,30}(?:at the beginning|first message)",
    re.IGNORECASE,
)
_NO_EMPTY = re.compile(r"(?:must be|are|is) non-?empty|(?:must|can)(?:not| not) be empty", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How a server is spoken to. Each field can be set by hand under its name in ``Provider.settings``.

    ``limit`` names the parameter of the response limit; ``stream_options`` and ``reasoning_effort`` are sent at all;
    ``system_first`` turns later system messages into user messages; ``alternate`` merges neighbours of one role and
    begins with the user; ``drop_empty`` leaves out messages without text; ``starts_in_thinking`` reads the answer as
    reasoning until ``</think>``.
    """

    limit: LimitName = "max_completion_tokens"
    stream_options: bool = True
    reasoning_effort: bool = True
    system_first: bool = False
    alternate: bool = False
    drop_empty: bool = False
    starts_in_thinking: bool = False

    def with_settings(self, settings: Mapping[str, Any]) -> Dialect:
        """This dialect with what *settings* say by hand; values of a wrong type are ignored."""
        by_hand = {
            each.name: settings[each.name]
            for each in fields(self)
            if each.name in settings and isinstance(settings[each.name], type(getattr(self, each.name)))
        }
        return replace(self, **by_hand)

    def learned(self, error: ModelError) -> tuple[Dialect, str] | None:
        """The dialect that *error* teaches, and what to tell the writer; ``None`` when it teaches nothing new."""
        if error.kind is not ModelErrorKind.BAD_REQUEST and error.status not in (400, 422):
            return None
        for lesson in (self._parameter_lesson, self._message_lesson):
            found = lesson(error.detail)
            if found is not None and found[0] != self:
                return found
        return None

    def _parameter_lesson(self, words: str) -> tuple[Dialect, str] | None:
        if not _REFUSAL.search(words):
            return None
        # Where both names occur, the first is the one that is refused, the second the advice.
        named = sorted((words.find(name), name) for name in _LIMITS if name in words)
        if named and named[0][1] == self.limit:
            other = next(name for name in _LIMITS if name != self.limit)
            return replace(self, limit=other), f"This server takes {other} in place of {self.limit}."
        if "stream_options" in words:
            return replace(
                self, stream_options=False
            ), "This server does not take stream_options; usage may be missing."
        if "reasoning_effort" in words:
            return replace(
                self, reasoning_effort=False
            ), "This server does not take reasoning_effort; it is left out."
        return None

    def _message_lesson(self, words: str) -> tuple[Dialect, str] | None:
        if _ALTERNATE.search(words):
            return (
                replace(self, alternate=True, system_first=True),
                "This model wants user and assistant to alternate; neighbouring messages are merged.",
            )
        if _SYSTEM_FIRST.search(words):
            return (
                replace(self, system_first=True),
                "This model takes system messages only at the beginning; later ones are sent as the user's.",
            )
        if _NO_EMPTY.search(words):
            return replace(self, drop_empty=True), "This server takes no empty messages; they are left out."
        return None

    def messages(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """*messages* as this server takes them; the very same when it is not picky."""
        found = tuple(messages)
        if self.drop_empty:
            found = tuple(each for each in found if each.content.strip())
        if self.system_first:
            found = tuple(_system_first(found))
        return tuple(_alternating(found)) if self.alternate else found


def _system_first(messages: Sequence[Message]) -> Iterator[Message]:
    leading = True
    for message in messages:
        leading = leading and message.role == "system"
        yield message if leading or message.role != "system" else replace(message, role="user")


def _alternating(messages: Sequence[Message]) -> Iterator[Message]:
    merged: list[Message] = []
    for message in messages:
        if merged and merged[-1].role == message.role:
            last = merged.pop()
            message = replace(last, content=f"{last.content}\n\n{message.content}")  # noqa: PLW2901 - the merged one
        elif message.role == "assistant" and (not merged or merged[-1].role == "system"):
            merged.append(Message(role="user", content="[The story so far]"))
        merged.append(message)
    return iter(merged)
