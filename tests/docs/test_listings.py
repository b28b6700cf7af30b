"""Every listing of the documentation runs, and says what is true."""

from __future__ import annotations

import os
import shlex
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from marginalia.cli.arguments import parser
from tests.docs.pages import PAGES, ROOT, Listing, listings, name_of, run

WITH_PYTHON = [page for page in PAGES if listings(page, "python")]
NEEDS_MODEL = {"README.md"}
DOCS = ROOT / "docs"


def case(page: Path) -> object:
    marks = [pytest.mark.model] if page.name in NEEDS_MODEL else []
    return pytest.param(page, marks=marks, id=name_of(page))


@pytest.mark.parametrize("path", [case(page) for page in WITH_PYTHON])
async def test_the_python_of_a_page_runs_from_top_to_bottom(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    for listing in listings(path, "python"):
        if listing.file:
            listing.write(tmp_path)
        else:
            await run(listing, module)
    for name in set(sys.modules) - before:  # what a page wrote down as a file belongs to that page
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
    studio = getattr(module, "studio", None)
    if studio is not None:
        await studio.aclose()


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_commands_of_a_page_are_commands(path: Path) -> None:
    for listing in listings(path, "sh"):
        for line in listing.text.splitlines():
            called = line.removeprefix("uv run ")
            if called.startswith("marginalia "):
                parser().parse_args(shlex.split(called, comments=True)[1:])


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_nothing_called_marginalia_is_fetched_from_the_package_index(path: Path) -> None:
    for listing in listings(path, "sh"):
        for line in listing.text.splitlines():
            words = shlex.split(line, comments=True) if "install" in line else []
            assert not [word for word in words if word.partition("[")[0] == "marginalia"], line


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_toml_of_a_page_is_toml(path: Path) -> None:
    for listing in listings(path, "toml"):
        assert tomllib.loads(listing.text)


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_links_between_pages_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target in _links(text):
        assert (path.parent / target).exists(), f"{name_of(path)} links to {target}"


def test_every_page_can_be_found_from_the_first_one() -> None:
    start = DOCS / "README.md"
    found, new = {start}, [start]
    while new:
        page = new.pop()
        leads = {(page.parent / link).resolve() for link in _links(page.read_text(encoding="utf-8"))}
        ours = {each for each in leads if each.suffix in {".md", ".ipynb"} and DOCS in each.parents} - found
        found |= ours
        new += [each for each in ours if each.suffix == ".md"]
    assert {*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb")} <= found


def _links(text: str) -> list[str]:
    found = [part.partition(")")[0].partition("#")[0] for part in text.split("](")[1:]]
    return [each for each in found if each and "://" not in each and not each.startswith("mailto:")]


def test_a_listing_that_does_not_run_is_noticed() -> None:
    listing = Listing(Path("page.md"), "python", "studio.no_such_thing()\n", 7)
    with pytest.raises(NameError) as caught:
        _sync(listing)
    assert caught.tb.tb_lineno
    assert os.fspath(listing.page) in str(caught.getrepr())


def _sync(listing: Listing) -> None:
    coroutine = run(listing, ModuleType("page"))
    try:
        coroutine.send(None)
    finally:
        coroutine.close()
