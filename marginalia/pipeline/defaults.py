"""The built-in prompts: files beside the code, so that they read like what they are."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from marginalia.values import Prompts


@cache
def default_prompts() -> Prompts:
    """What is used where neither the book nor the user set a prompt."""
    return Prompts(
        master_template=_text("master_template"),
        user_prompt=_text("user_prompt"),
        pov="third person limited",
        tense="past tense",
        style="clear, concrete prose with natural dialogue",
        summary_prompt=_text("summary_prompt"),
        meta_summary_prompt=_text("meta_summary_prompt"),
    )


def _text(name: str) -> str:
    return files("marginalia").joinpath("prompts", f"{name}.txt").read_text(encoding="utf-8").rstrip("\n")
