"""The tutorial's package, made of nothing but what the page says."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import marginalia as mg
from marginalia.testing import WordTokenizer
from tests.docs.pages import ROOT, listings

PAGE = ROOT / "docs" / "tutorial" / "first-extension.md"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The files of the page, and what an installer makes of the first one."""
    for listing in (*listings(PAGE, "toml"), *listings(PAGE, "python")):
        if listing.file:
            file = tmp_path / listing.file
            file.parent.mkdir(exist_ok=True)
            file.write_text(listing.text, encoding="utf-8")
    assert (tmp_path / "nightfall" / "__init__.py").exists()
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = tmp_path / f"{project['name']}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in project["entry-points"].items()
    )
    (info / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
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
