"""An event, step, macro, format, setting or command without its documentation is noticed, whatever of it is missing."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import param
import pytest

from docs import generate
from docs.markdown import Undocumented
from marginalia.cli.arguments import parser
from marginalia.export import FORMATS
from marginalia.formats import CODECS
from marginalia.formats.stories import STORY_CODECS
from marginalia.models import TurnInput
from marginalia.pipeline import events, steps
from marginalia.pipeline.slots import Slot
from marginalia.prompt.macros.builtin import MACROS
from tests.docs.test_reference import _keys

Patch = pytest.MonkeyPatch


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeNothing(events.Event):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeSomething(events.Event):
    """It has a docstring, and no line in the table of what may be answered."""


class Bare(TurnInput):
    """A model with one field that nothing is said about."""

    mystery = param.String(default="", label="Mystery")


def more_events(event: type[events.Event]) -> Callable[[Patch], None]:
    return lambda patch: patch.setattr(events, "ALL", (*events.ALL, event))


def another_step(patch: Patch) -> None:
    slot: Any = Slot("REST", events.BeforeCleanup, events.BeforeCleanup)
    patch.setattr(steps, "STEPS", {**steps.STEPS, slot: None})


def another_macro(patch: Patch) -> None:
    patch.setattr(generate, "MACROS", MACROS.with_macro("mystery", lambda _call: ""))


def untitled_lore_format(patch: Patch) -> None:
    patch.setattr(generate, "CODECS", (*CODECS, replace(CODECS[0], title=CODECS[0].id)))


def untitled_story_format(patch: Patch) -> None:
    patch.setattr(generate, "STORY_CODECS", (*STORY_CODECS, replace(STORY_CODECS[0], title="")))


def untitled_export(patch: Patch) -> None:
    patch.setattr(generate, "FORMATS", {**FORMATS, "new": replace(next(iter(FORMATS.values())), name="")})


def another_field(patch: Patch) -> None:
    patch.setattr(generate, "MODELS", (*generate.MODELS, Bare))


def another_command(patch: Patch) -> None:
    patch.setattr(generate, "parser", lambda: with_command("mystery"))


def another_option(patch: Patch) -> None:
    patch.setattr(generate, "parser", lambda: with_option("--mystery"))


def with_command(name: str) -> argparse.ArgumentParser:
    top = parser()
    (below,) = (each for each in top._actions if isinstance(each, argparse._SubParsersAction))
    below.add_parser(name)
    return top


def with_option(name: str) -> argparse.ArgumentParser:
    top = parser()
    top.add_argument(name)
    return top


@pytest.mark.parametrize(
    ("name", "add"),
    [
        ("events", more_events(BeforeNothing)),
        ("events", more_events(BeforeSomething)),
        ("steps", another_step),
        ("macros", another_macro),
        ("formats", untitled_lore_format),
        ("formats", untitled_story_format),
        ("formats", untitled_export),
        ("settings", another_field),
        ("command-line", another_command),
        ("command-line", another_option),
    ],
)
def test_a_page_cannot_be_written_while_something_on_it_is_undocumented(
    name: str, add: Callable[[Patch], None], monkeypatch: Patch
) -> None:
    generate.page(name)
    add(monkeypatch)
    with pytest.raises(Undocumented):
        generate.page(name)


def test_every_event_of_the_module_is_one_that_is_fired() -> None:
    bases = {events.Event, events.StoryChosen}
    found = {
        each for each in vars(events).values() if isinstance(each, type) and issubclass(each, events.Event)
    }
    assert found == bases | set(events.ALL)


@pytest.mark.parametrize(
    "source",
    [
        'studio.settings.get("mystery")',
        'self._settings.set("mystery", 1)',
        'KEY = "mystery"\nsettings.get(KEY)',
        'book.settings["mystery"]',
    ],
)
def test_a_setting_is_found_however_it_is_looked_up(source: str, tmp_path: Path, monkeypatch: Patch) -> None:
    file = tmp_path / "module.py"
    file.write_text(source.replace("settings.get(KEY)", "def late(settings): settings.get(KEY)"))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("tests.docs.test_reference.PACKAGE", tmp_path / "none")
    assert _keys(file) == {"mystery"}
    sys.modules.pop("module", None)
