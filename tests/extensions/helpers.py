"""A studio in memory with one book, for tests of extensions."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import marginalia as mg
from marginalia.extensions.api import Host
from marginalia.testing import WordTokenizer

TURN = mg.Turn(instructions="Go on.")


def studio_with(*extensions: Any, **more: Any) -> tuple[mg.Studio, mg.Book]:
    studio = mg.Studio(":memory:", tokenizer=WordTokenizer(), seed=1, extensions=extensions)
    return studio, add_book(studio, **more)


def add_book(
    studio: mg.Studio,
    *,
    texts: Iterable[str] = ("Snow fell.",),
    base_url: str = "http://127.0.0.1:9",
    **more: Any,
) -> mg.Book:
    book = studio.books.create(
        name="Salt",
        provider=studio.providers.create(
            name="S", base_url=base_url, model="m", max_context=4000, max_response=500, max_retries=0
        ),
        protocol=studio.protocols.create(name="P"),
        **more,
    )
    for text in texts:
        studio.story.append(book, text)
    return studio.books.get(book.id)


def extension(install: Callable[[Host], Any], name: str = "trial", **more: Any) -> Any:
    """An extension whose ``install`` is *install*."""
    fields = {"name": name, "install": lambda self, host: install(host), **more}
    return type("Trial", (), fields)()


def installed_from(project: Path, site: Path) -> None:
    """Build the package in the folder *project*, and unpack its wheel into *site*, as an installer does."""
    source, built = site.parent / "source", site.parent / "wheels"
    shutil.copytree(project, source, ignore=shutil.ignore_patterns("__pycache__"))
    build = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(built)], cwd=source, check=True, capture_output=True)
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
