"""The cases of the macro language, and the conformance cases of templates, macros and variables."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

from marginalia.errors import TemplateError
from marginalia.prompt.context import Facts, TemplateContext, Variables
from marginalia.prompt.templates import check, render
from marginalia.values import Limits, Turn
from tests.prompt.macros.macro_cases import instant, problems, rendered

DATA = Path(__file__).parent.parent / "data"
MACROS: dict[str, Any] = json.loads((DATA / "macros.json").read_text(encoding="utf-8"))
CONFORMANCE: list[dict[str, Any]] = json.loads((DATA / "conformance.json").read_text(encoding="utf-8"))

CONTRADICTED = {
    "m266": "MAC-016 (must) says that an odd count falls back to one, this case says that it prints nothing"
}
MACRO_CASES = [
    pytest.param(
        case,
        id=case["id"],
        marks=[pytest.mark.xfail(strict=True, reason=CONTRADICTED[case["id"]])]
        if case["id"] in CONTRADICTED
        else [],
    )
    for case in MACROS["cases"]
]
RENDERED = [pytest.param(case, id=case["id"]) for case in CONFORMANCE if "context" in case["given"]]
CHECKED = [pytest.param(case, id=case["id"]) for case in CONFORMANCE if "context" not in case["given"]]


@pytest.mark.parametrize("case", MACRO_CASES)
def test_macro_case(case: dict[str, Any]) -> None:
    assert problems(case, MACROS["base_context"]) == []


def in_both_languages(case: dict[str, Any]) -> bool:
    """Whether a template holds nothing but forms that a Jinja text has too; line breaks and dice differ."""
    template = case["template"]
    forms = r"(?:[^{}\\<]|\{\{[.$][^{}|]*\}\}|\{\{\w+::[^{}]*\}\}|\{\{/?#?if[^{}]*\}\})*"
    alike = re.fullmatch(forms, template) and "{{" in template
    return (
        bool(alike)
        and case["mode"] == "macros"
        and case["expected"] is not None
        and case["expected"] != template
    )


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case["id"]) for case in MACROS["cases"] if in_both_languages(case)]
)
def test_both_syntaxes_print_the_same_for_the_forms_they_share(case: dict[str, Any]) -> None:
    base = MACROS["base_context"]
    assert rendered({**case, "mode": "jinja"}, base) == rendered(case, base)


def conformance_context(values: dict[str, Any], book: str = "1") -> TemplateContext:
    turn = Turn(
        scene_setting=values["scene_setting"],
        pov_character=values["pov_character"],
        present_characters=values["present_characters"],
        instructions=values["instructions"],
    )
    facts = Facts(
        book_id=book,
        book_name=values["book_name"] or "",
        book_description=values["book_description"] or "",
        turn=turn,
        pov=values["pov"] or "",
        tense=values["tense"] or "",
        style=values["style"] or "",
        model=values["model_name"] or "",
        limits=Limits(context=values["max_context"] or 0, response=values["max_response"] or 0),
        generation_type=values["generation_type"],
        story=values["story"],
        last_instructions=values["last_instructions"] or "",
        last_time=instant(values["last_time"]),
        summary=values["latest_summary"] or "",
        now=instant(values["now"]),
    )
    return TemplateContext(facts, Variables(local=values["locals"], shared=values["globals"]), Random(2))


def outputs(case: dict[str, Any], context: TemplateContext) -> list[list[str]]:
    """What each operation of a case renders, as often as it says."""
    results: list[list[str]] = []
    for step in case["when"]:
        data = step.get("data", case["given"].get("data", {}))
        seen = context.fork() if step.get("fork") else context
        books = [
            conformance_context(case["given"]["context"], str(book))
            for book in range(step.get("for_books", 0))
        ]
        contexts = books or [seen] * step.get("repeat", 1)
        results.append([render(step["template"], context=each, data=data).text for each in contexts])
    return results


@pytest.mark.parametrize("case", RENDERED)
def test_conformance_case(case: dict[str, Any]) -> None:
    then, context = case["then"], conformance_context(case["given"]["context"])
    if then.get("rendered") == {"$render_error": True}:
        with pytest.raises(TemplateError):
            outputs(case, context)
        return
    results = outputs(case, context)
    if "sets" in then:
        assert [set(texts) for texts in results] == [set(each["$exactly"]) for each in then["sets"]]
    elif "first" in then:
        assert len(set(results[0])) == 1
        assert len(set(results[1])) >= then["second"]["$distinct_at_least"]
        assert any(len(set(text.split("+"))) > 1 for text in results[1])
    else:
        expected = then["rendered"]
        assert [texts[0] for texts in results] == ([expected] if isinstance(expected, str) else expected)
    assert context.local == then.get("locals", context.local)
    assert context.shared == then.get("globals", context.shared)


@pytest.mark.parametrize("case", CHECKED)
def test_validation_case(case: dict[str, Any]) -> None:
    step, then = case["when"][0], case["then"]
    found = check(step["template"], kind=step["kind"])
    assert found.valid is then["valid"]
    assert bool(found.message) is not found.valid
    assert list(found.unknown) == then.get("unknown", [])
