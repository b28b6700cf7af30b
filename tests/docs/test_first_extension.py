"""The tutorial's package, made of nothing but what the page says."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import marginalia as mg
from marginalia.testing import WordTokenizer
from tests.docs.pages import ROOT, listings
from tests.extensions.helpers import installed_from

PAGE = ROOT / "docs" / "tutorial" / "first-extension.md"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The files of the page, and what an installer makes of them."""
    project, site = tmp_path / "nightfall-extension", tmp_path / "site-packages"
    project.mkdir()
    for listing in (*listings(PAGE, "toml"), *listings(PAGE, "python")):
        if listing.file:
            listing.write(project)
    installed_from(project, site)
    monkeypatch.syspath_prepend(str(site))
    yield site
    sys.modules.pop("nightfall", None)


async def test_the_package_of_the_tutorial_is_found_and_works(package: Path) -> None:
    with mg.Studio(":memory:", tokenizer=WordTokenizer()) as studio:
        assert studio.extensions.failures == ()
        assert "nightfall" in studio.extensions.names
        prompt = await studio.preview(
            studio.books.create(name="The Lighthouse"), mg.Turn(instructions="Go on.")
        )
        assert prompt.messages[-2].content == "It is dusk."
        assert "Nightfall" in [each.panel.title for each in studio.extensions.panels]
