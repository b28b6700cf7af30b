"""A small world for the pipeline.

A studio in memory, a scripted server, one book with three parts and a lorebook.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

import marginalia as mg
from marginalia.pipeline.run import Run
from marginalia.testing import ScriptedServer, Stream
from tests.worlds import salt, studio_in_memory

TURN = mg.Turn(instructions="Go on.", pov_character="Mara")


class Ear(mg.GenerationListener):
    """Writes down what it hears."""

    def __init__(self, answer: bool | None = None) -> None:
        self.heard: list[str] = []
        self.errors: list[Exception] = []
        self.simple: list[str] = []
        self.warnings: list[str] = []
        self.answer = answer

    def on_node_created(self, part: mg.Part) -> None:
        self.heard.append("created")

    def on_response_chunk(self, text: str) -> None:
        self.heard.append(f"text {text!r}")

    def on_reasoning_chunk(self, text: str) -> None:
        self.heard.append(f"reasoning {text!r}")

    def on_warning(self, text: str) -> None:
        self.warnings.append(text)

    def on_simple_error(self, text: str) -> None:
        self.simple.append(text)

    def on_error(self, error: Exception) -> None:
        self.errors.append(error)

    def on_complete(self, part: mg.Part) -> None:
        self.heard.append("complete")

    def on_cancelled(self, part: mg.Part | None) -> None:
        self.heard.append("cancelled")

    def ask_question(self, text: str) -> bool | None:
        self.heard.append("question")
        return self.answer


@dataclass
class World:
    studio: mg.Studio
    server: ScriptedServer
    book: mg.Book
    parts: list[mg.Part] = field(default_factory=list)

    def script(self, *answers: Any) -> None:
        self.server.script(*answers)

    def generate(self, request: Any = None, *, ear: mg.GenerationListener | None = None, **more: Any) -> Run:
        return self.studio.generate(self.book, TURN, request=request, listener=ear, **more)

    def texts(self) -> list[str]:
        return [part.text for part in self.studio.story.branch(self.book)]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with ScriptedServer([Stream("Done.")]) as server:
        studio = studio_in_memory()
        book = salt(studio, server)
        parts = [studio.story.append(book, text) for text in ("Snow fell.", "Wolves came.", "Fire held.")]
        yield World(studio, server, studio.books.get(book.id), parts)
        await studio.aclose()
