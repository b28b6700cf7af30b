"""Rendering and checking templates; all renders of a case share one context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import marginalia as mg
from marginalia.pipeline.defaults import default_prompts
from marginalia.prompt.context import Facts, TemplateContext, Variables
from marginalia.prompt.templates import TemplateKind
from marginalia.prompt.templates import check as check_template
from marginalia.prompt.templates import render as render_template
from marginalia.values import EPOCH
from tests.conformance.case import Value
from tests.conformance.matchers import mismatches
from tests.conformance.seen import MISSING, Mismatches, RenderError, Surroundings

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.case import Json
    from tests.conformance.observing import Observers
    from tests.conformance.world import World

_KINDS: Mapping[str, TemplateKind] = {
    "lorebook": "lore",
    "lorebook_entry": "lore",
    "payload": "lore",
    "summary": "summary_prompt",
    "meta_summary": "meta_summary_prompt",
}

_GENERATION_SEED = 7


def _context(world: World) -> TemplateContext:
    """The context of the case, made at the first rendering."""
    if "template context" not in world.made:
        world.made["template context"] = _new_context(world.case.given.get("context") or {})
    found: TemplateContext = world.made["template context"]
    return found


def _new_context(raw: Json) -> TemplateContext:
    variables = Variables(local=raw.get("locals") or {}, shared=raw.get("globals") or {})
    return TemplateContext(_facts(raw), variables, Random(_GENERATION_SEED))


def _facts(raw: Json) -> Facts:
    zone = ZoneInfo(raw.get("zone") or "UTC")
    now, last = raw.get("now"), raw.get("last_time")
    return Facts(
        book_id="the book of the case",
        book_name=raw.get("book_name") or "",
        book_description=raw.get("book_description") or "",
        turn=mg.Turn(
            scene_setting=raw.get("scene_setting"),
            pov_character=raw.get("pov_character"),
            present_characters=raw.get("present_characters"),
            instructions=raw.get("instructions"),
        ),
        pov=raw.get("pov") or "",
        tense=raw.get("tense") or "",
        style=raw.get("style") or "",
        model=raw.get("model_name") or "",
        limits=mg.Limits(context=raw.get("max_context") or 0, response=raw.get("max_response") or 0),
        generation_type=raw.get("generation_type") or "normal",
        story=tuple(raw.get("story") or ()),
        last_instructions=raw.get("last_instructions") or "",
        last_time=datetime.fromisoformat(last).astimezone(zone) if last else None,
        summary=raw.get("latest_summary") or "",
        now=datetime.fromisoformat(now).astimezone(zone) if now else EPOCH,
    )


async def render(world: World, op: Json) -> Observers:
    """Render a template, several times or for several books when the case says so."""
    context = _context(world)
    data = op.get("data", world.case.given.get("data") or {})
    if op.get("fork"):
        context = context.fork()
    contexts = [context] * op.get("repeat", 1)
    if "for_books" in op:
        facts = [replace(context.facts, book_id=f"book {number}") for number in range(op["for_books"])]
        contexts = [TemplateContext(each, context.variables, context.random) for each in facts]
    outputs = [_rendered(op["template"], each, data) for each in contexts]
    several = "repeat" in op or "for_books" in op
    found: dict[str, Callable[[], Any]] = {
        "rendered": lambda: outputs if several else outputs[0],
        "outputs": lambda: outputs,
    }
    variables = _context(world).variables
    return found | {"locals": lambda: dict(variables.local), "globals": lambda: dict(variables.shared)}


def _rendered(template: str | None, context: TemplateContext, data: Json) -> str | RenderError:
    try:
        return render_template(template, context=context, data=data).text
    except mg.TemplateError as error:
        return RenderError(str(error))


async def validate_template(_: World, op: Json) -> Observers:
    """Check a template as the editor does."""
    check = check_template(op["template"], kind=_KINDS.get(op["kind"], op["kind"]))
    return {
        "valid": lambda: check.valid,
        "message": lambda: check.message or MISSING,
        "unknown": lambda: list(check.unknown),
        "line": lambda: check.line,
        "column": lambda: check.column,
    }


async def render_defaults(world: World, op: Json) -> Observers:
    """Render the built-in prompts."""
    data = op.get("data", world.case.given.get("data") or {})
    defaults = default_prompts()
    own: Mapping[str, Sequence[str]] = {
        "user_prompt": (),
        "master_template": ("backgroundLore", "summaries"),
        "summary_prompt": ("text", "backgroundLore", "summaries"),
        "meta_summary_prompt": ("summaryBlocks", "backgroundLore"),
    }
    texts = {
        name: _rendered(getattr(defaults, name), _context(world), dict.fromkeys(known) | data)
        for name, known in own.items()
    }
    found: dict[str, Callable[[], Any]] = {
        "rendered": lambda: Defaults(texts),
        "outputs": lambda: list(texts.values()),
        "system_prompt": lambda: texts["master_template"],
    }
    return found | {name: lambda name=name: texts[name] for name in own}


@dataclass(frozen=True, slots=True)
class Defaults:
    """The rendered built-in prompts: matchers must hold for each, names and lists stand for single ones."""

    texts: Mapping[str, str | RenderError]

    def mismatches(self, expected: Value, around: Surroundings, path: str) -> Mismatches:
        """What is wrong, prompt by prompt."""
        if isinstance(expected, Mapping) and any(name.startswith("$") for name in expected):
            for name, text in self.texts.items():
                yield from mismatches(expected, text, around, f"{path}.{name}")
        elif isinstance(expected, Mapping):
            yield from mismatches(expected, dict(self.texts), around, path)
        else:
            yield from mismatches(expected, list(self.texts.values()), around, path)


OPERATIONS = {each.__name__: each for each in (render, validate_template, render_defaults)}
