"""The macros that every template may call.

They are SillyTavern's names with a book's meaning: the character of a chat is the POV character, its messages are the
parts of the story. Names that have no meaning in a book print nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache, partial

from marginalia.prompt.context import Facts
from marginalia.prompt.macros import chance, moments, variables
from marginalia.prompt.macros.numbers import number
from marginalia.prompt.macros.table import Invocation, Macro, MacroFunction, MacroTable

_MOST_REPEATED = 1000
_SEPARATORS = re.compile(r"[,\n]")

WITHOUT_MEANING = frozenset(
    [
        "persona",
        "personality",
        "charPersonality",
        "charDescription",
        "charScenario",
        "charPrompt",
        "charInstruction",
        "charDepthPrompt",
        "charCreatorNotes",
        "creatorNotes",
        "charVersion",
        "version",
        "char_version",
        "mesExamples",
        "mesExamplesRaw",
        "charFirstMessage",
        "greeting",
        "original",
        "firstIncludedMessageId",
        "firstDisplayedMessageId",
        "lastSwipeId",
        "currentSwipeId",
        "allChatRange",
        "systemPrompt",
        "defaultSystemPrompt",
        "authorsNote",
        "charAuthorsNote",
        "defaultAuthorsNote",
        "chatSeparator",
        "chatStart",
        "exampleSeparator",
        "reasoningPrefix",
        "reasoningSuffix",
        "reasoningSeparator",
        "charPrefix",
        "charNegativePrefix",
        "outlet",
        "banned",
        "charJailbreak",
        "defaultExpression",
        "lastExpression",
        "availableExpressions",
        "lastChatMessage",
        "instructStoryStringPrefix",
        "instructStoryStringSuffix",
        "instructUserPrefix",
        "instructInput",
        "instructUserSuffix",
        "instructAssistantPrefix",
        "instructOutput",
        "instructAssistantSuffix",
        "instructSeparator",
        "instructSystemPrefix",
        "instructSystemSuffix",
        "instructFirstAssistantPrefix",
        "instructFirstOutputPrefix",
        "instructLastAssistantPrefix",
        "instructLastOutputPrefix",
        "instructFirstUserPrefix",
        "instructFirstInput",
        "instructLastUserPrefix",
        "instructLastInput",
        "instructStop",
        "instructUserFiller",
        "instructSystemInstructionPrefix",
        "instructSystem",
        "instructSystemPrompt",
    ]
)
"""Macros of chat applications that print nothing in a book."""


@lru_cache(maxsize=64)
def _people(text: str | None) -> tuple[str, ...]:
    return tuple(name for part in _SEPARATORS.split(text or "") if (name := part.strip()))


def _group(facts: Facts) -> str:
    return ", ".join(_people(facts.turn.present_characters)) or facts.turn.pov_character or ""


def _others(facts: Facts) -> str:
    pov = (facts.turn.pov_character or "").strip().casefold()
    return ", ".join(name for name in _people(facts.turn.present_characters) if name.casefold() != pov)


def _known(number: int) -> str:
    return str(number) if number > 0 else ""


def _idle(facts: Facts) -> str:
    if facts.last_time is None:
        return "just now"
    return moments.duration((facts.now - facts.last_time).total_seconds())


def _reads() -> Iterator[tuple[str, Callable[[Facts], str | None]]]:
    """Macros that print a fact: all their names, and where it is."""
    yield "user char charIfNotGroup", lambda facts: facts.turn.pov_character
    yield "group groupNotMuted", _group
    yield "notChar", _others
    yield "description", lambda facts: facts.book_description
    yield "scenario", lambda facts: facts.turn.scene_setting
    yield "input", lambda facts: facts.turn.instructions
    yield "lastMessage lastCharMessage", lambda facts: facts.story[-1] if facts.story else ""
    yield "lastMessageId", lambda facts: str(len(facts.story) - 1) if facts.story else ""
    yield "lastUserMessage", lambda facts: facts.last_instructions
    yield "summary", lambda facts: facts.summary
    yield "model", lambda facts: facts.model
    yield "maxContextTokens maxContext", lambda facts: _known(facts.limits.context)
    yield "maxResponseTokens maxResponse", lambda facts: _known(facts.limits.response)
    yield "maxPrompt maxPromptTokens", lambda facts: _known(facts.limits.prompt)
    yield "lastGenerationType", lambda facts: facts.generation_type
    yield "date", lambda facts: moments.formatted(facts.now, "LL")
    yield "weekday", lambda facts: moments.formatted(facts.now, "dddd")
    yield "isodate", lambda facts: moments.formatted(facts.now, "YYYY-MM-DD")
    yield "isotime", lambda facts: moments.formatted(facts.now, "HH:mm")
    yield "idleDuration idle_duration", _idle
    yield "noop", lambda _: ""
    yield "isMobile", lambda _: "false"


def _fact(read: Callable[[Facts], str | None], call: Invocation) -> str:
    return read(call.context.facts) or ""


def _time(call: Invocation) -> str:
    zone = moments.zone(call.argument(0))
    now = call.context.facts.now
    return moments.formatted(now.astimezone(zone) if zone else now, "LT")


def _format(call: Invocation) -> str:
    return moments.formatted(call.context.facts.now, call.argument(0))


def _time_difference(call: Invocation) -> str:
    now = call.context.facts.now
    first, second = moments.moment(call.argument(0), now), moments.moment(call.argument(1), now)
    return moments.difference(first, second) if first and second else ""


def _repeated(text: str, call: Invocation) -> str:
    """*text* as often as the argument says: once without a number, never for a negative one."""
    value = number(call.argument(0))
    times = 1 if value is None else max(0, min(int(value), _MOST_REPEATED))
    return text * times


def _store(call: Invocation, *, shared: bool) -> variables.Store:
    return call.context.shared if shared else call.context.local


def _set(call: Invocation, *, shared: bool) -> str:
    variables.put(_store(call, shared=shared), call.argument(0), call.argument(1))
    return ""


def _add(call: Invocation, *, shared: bool) -> str:
    variables.increase(_store(call, shared=shared), call.argument(0), call.argument(1))
    return ""


def _get(call: Invocation, *, shared: bool) -> str:
    return _store(call, shared=shared).get(call.argument(0), "")


def _has(call: Invocation, *, shared: bool) -> str:
    return "true" if call.argument(0) in _store(call, shared=shared) else "false"


def _delete(call: Invocation, *, shared: bool) -> str:
    _store(call, shared=shared).pop(call.argument(0), None)
    return ""


def _count(step: int, call: Invocation, *, shared: bool) -> str:
    return variables.count(_store(call, shared=shared), call.argument(0), step)


def _variable_macros(infix: str, *, shared: bool) -> Iterator[Macro]:
    """Macros for the variables of the branch, or with ``global`` in their names for those of the book."""
    name = "globalvar" if shared else "var"
    yield Macro(name=f"set{name}", function=partial(_set, shared=shared), minimum=2, maximum=2)
    yield Macro(
        name=f"add{name}", function=partial(_add, shared=shared), minimum=2, maximum=2, forgiving=True
    )
    single: dict[str, MacroFunction] = {
        f"get{name}": partial(_get, shared=shared),
        f"inc{name}": partial(_count, 1, shared=shared),
        f"dec{name}": partial(_count, -1, shared=shared),
        f"has{name}": partial(_has, shared=shared),
        f"{infix}varexists": partial(_has, shared=shared),
        f"delete{name}": partial(_delete, shared=shared),
        f"flush{name}": partial(_delete, shared=shared),
    }
    for each, function in single.items():
        yield Macro(name=each, function=function, minimum=1, maximum=1, forgiving=True)


def _pick(call: Invocation) -> str:
    return chance.picked(call.arguments, call.context.facts.book_id, call.place, call.site)


def _all() -> Iterator[Macro]:
    for names, read in _reads():
        for name in names.split():
            yield Macro(name=name, function=partial(_fact, read))
    for name in sorted(WITHOUT_MEANING):
        yield Macro(name=name, function=lambda _: "", maximum=1)
    yield Macro(name="hasExtension", function=lambda _: "false", maximum=1)
    yield Macro(name="time", function=_time, maximum=1)
    yield Macro(name="datetimeformat", function=_format, minimum=1, maximum=1)
    yield Macro(name="timeDiff", function=_time_difference, minimum=2, maximum=2)
    yield from _variable_macros("", shared=False)
    yield from _variable_macros("global", shared=True)
    yield Macro(
        name="random",
        function=lambda call: chance.drawn(call.arguments, call.context.random),
        minimum=1,
        choices=True,
    )
    yield Macro(name="pick", function=_pick, minimum=1, choices=True)
    yield Macro(
        name="roll",
        function=lambda call: chance.rolled(call.argument(0), call.context.random),
        minimum=1,
        maximum=1,
    )
    yield Macro(name="newline", function=partial(_repeated, "\n"), maximum=1)
    yield Macro(name="space", function=partial(_repeated, " "), maximum=1)
    yield Macro(name="reverse", function=lambda call: call.argument(0)[::-1], minimum=1, maximum=1)
    yield Macro(name="trim", function=lambda call: call.argument(0), optional_block=True)


MACROS = MacroTable(_all())
"""The macros of Marginalia. Immutable; ``MACROS.with_macro(...)`` makes a table with one more."""
