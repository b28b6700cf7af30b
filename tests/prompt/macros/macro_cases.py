"""Cases of the macro language: an object with a ``base_context`` and ``cases``, as ``data/macros.json`` has them.

``problems(case, base)`` is also for the conformance runner, which gets files of that form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from random import Random
from typing import Any

from marginalia.errors import TemplateError
from marginalia.prompt.context import Facts, TemplateContext, Variables
from marginalia.prompt.templates import render
from marginalia.values import Limits, Turn


def instant(text: str | None) -> Any:
    return datetime.fromisoformat(text) if text else None


def macro_context(values: Mapping[str, Any]) -> TemplateContext:
    turn = Turn(
        scene_setting=values["sceneSetting"],
        pov_character=values["povCharacter"],
        present_characters=values["presentCharacters"],
        instructions=values["instructions"],
    )
    facts = Facts(
        book_id=values["bookId"],
        book_name=values["manuscriptName"],
        book_description=values["manuscriptDescription"],
        turn=turn,
        pov=values["narrativePov"],
        tense=values["narrativeTense"],
        style=values["style"],
        model=values["model"],
        limits=Limits(context=values["maxContextTokens"], response=values["maxResponseTokens"]),
        generation_type=values["generationType"],
        story=(*["An earlier part."] * values["lastMessageId"], values["lastMessage"]),
        last_instructions=values["lastUserMessage"],
        last_time=instant(values["lastMessageTime"]),
        summary=values["summary"],
        now=instant(values["now"]),
    )
    return TemplateContext(facts, Variables(local=values["local"], shared=values["global"]), Random(1))


def rendered(case: Mapping[str, Any], base: Mapping[str, Any]) -> str:
    """The text of a case; a template that does not compile stays as it is."""
    values = {**base, **case.get("context", {})}
    try:
        return render(
            case["template"],
            context=macro_context(values),
            data=values["vars"],
            place=case["id"],
            syntax=case["mode"],
        ).text
    except TemplateError:
        return str(case["template"])


def problems(case: Mapping[str, Any], base: Mapping[str, Any]) -> list[str]:
    """What came out differently than the case expects, in words; nothing when it passed."""
    text, predicate = rendered(case, base), case.get("predicate") or {}
    wrong: list[str] = []
    if case["expected"] is not None and text != case["expected"]:
        wrong.append(f"expected {case['expected']!r}, got {text!r}")
    if "one_of" in predicate and text not in predicate["one_of"]:
        wrong.append(f"expected one of {predicate['one_of']!r}, got {text!r}")
    if "regex" in predicate and not re.fullmatch(predicate["regex"], text):
        wrong.append(f"expected a match of {predicate['regex']!r}, got {text!r}")
    if "int_range" in predicate:
        low, high = predicate["int_range"]
        if not (text.lstrip("-").isdigit() and low <= int(text) <= high):
            wrong.append(f"expected a whole number from {low} to {high}, got {text!r}")
    if predicate.get("stable") and rendered(case, base) != text:
        wrong.append(f"expected the same again, got {text!r} first")
    return wrong
