"""The reference has everything that there is, and nothing that is gone."""

from __future__ import annotations

import ast
import importlib
import re
from dataclasses import fields
from pathlib import Path

import pytest

import marginalia
from docs import generate, words
from docs.markdown import Undocumented, described
from marginalia.extensions.manager import BUNDLED
from marginalia.inference.dialect import Dialect
from marginalia.pipeline import events, steps
from marginalia.prompt.macros.builtin import MACROS

PACKAGE = Path(marginalia.__file__).parent
INTERNAL = {"sample", "base_url"}
"""What no person sets: a mark of the first start, and a column of a backup."""
OTHER_SETTINGS = {"local.py", "local_server.py"}
"""Here ``settings`` are what the process of the bundled model is started with."""


@pytest.mark.parametrize("name", generate.PAGES)
def test_a_page_is_what_the_code_says(name: str) -> None:
    file = generate.HERE / "reference" / f"{name}.md"
    assert file.read_text(encoding="utf-8") == generate.page(name), "run: python -m docs.generate"


def test_every_event_step_macro_and_command_is_on_its_page() -> None:
    assert all(f"## {event.__name__}\n" in generate.page("events") for event in events.ALL)
    assert all(f"`{slot.name}`" in generate.page("steps") for slot in steps.STEPS)
    assert all(f"`{macro.name}`" in generate.page("macros") for macro in MACROS.values())
    assert all(f"`{name}`" in generate.page("macros") for name in ("setvar", "persona"))
    assert all(f"## marginalia {name}\n" in generate.page("command-line") for name in words.COMMANDS)


def test_a_name_without_description_or_a_description_without_name_is_noticed() -> None:
    assert described(["a", "b"], {"a, b": "both"}, "letters") == {"a": "both", "b": "both"}
    with pytest.raises(Undocumented, match="'c'"):
        described(["a", "b", "c"], {"a, b": "both"}, "letters")
    with pytest.raises(Undocumented, match="'b'"):
        described(["a"], {"a": "one", "b": "two"}, "letters")


def test_every_environment_variable_of_ours_is_documented() -> None:
    found = {
        name
        for file in PACKAGE.rglob("*.py")
        for name in re.findall(r"MARGINALIA_[A-Z_]+", file.read_text("utf-8"))
    }
    assert found == set(words.ENVIRONMENT)


def test_every_setting_of_a_book_or_user_is_documented() -> None:
    known = {*words.BOOK_SETTINGS, *words.USER_SETTINGS, *words.PROVIDER_SETTINGS}
    known |= {each.name for each in fields(Dialect)}
    found = {key for file in PACKAGE.rglob("*.py") if file.name not in OTHER_SETTINGS for key in _keys(file)}
    assert "lore_tokens" in found
    assert {key for key in found if key not in INTERNAL} <= known


def _keys(file: Path) -> set[str]:
    """The keys that a module looks up in ``settings``: literal ones, and constants of a module."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case (
                ast.Call(
                    func=ast.Attribute(value=owner, attr="get" | "set" | "forget" | "pop"), args=[key, *_]
                )
                | ast.Subscript(value=owner, slice=key)
            ):
                if _name(owner).lstrip("_") == "settings":
                    found |= _text(key, file)
            case _:
                pass
    return found


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _text(key: ast.expr, file: Path) -> set[str]:
    if isinstance(key, ast.Constant):
        value: object = key.value
    elif isinstance(key, ast.Name):
        value = getattr(importlib.import_module(_module(file)), key.id, None)
    else:
        value = None
    return {value} if isinstance(value, str) else set()


def _module(file: Path) -> str:
    return ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)


def test_every_bundled_extension_is_in_the_pages() -> None:
    text = "".join(file.read_text(encoding="utf-8") for file in generate.HERE.rglob("*.md"))
    for value in BUNDLED:
        extension = getattr(importlib.import_module(value.partition(":")[0]), value.partition(":")[2])
        assert f"`{extension.name}`" in text
