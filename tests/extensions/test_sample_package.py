"""An extension of a separate package: installed, found, at work, switched off without a trace."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import marginalia as mg
from marginalia.extensions.api import Table
from marginalia.prompt.segments import SegmentKind
from marginalia.testing import WordTokenizer
from tests.extensions.helpers import TURN, add_book, installed_from

HERE = Path(__file__).parent
TEMPLATE = "{{instructions}} The water is {{tide}}."


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, built and unpacked once."""
    site = tmp_path_factory.mktemp("tidewater") / "site-packages"
    installed_from(HERE / "sample_package", site)
    return site


@pytest.fixture
def installed(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package as an installer leaves it: the code, and beside it what it says about itself."""
    site = tmp_path / "site-packages"
    shutil.copytree(package, site)
    monkeypatch.syspath_prepend(str(site))
    yield site
    sys.modules.pop("tidewater", None)


@pytest.fixture
def studio(installed: Path) -> Iterator[mg.Studio]:
    with mg.Studio(":memory:", tokenizer=WordTokenizer(), seed=1) as studio:
        yield studio


async def test_it_is_found_and_changes_a_prompt(studio: mg.Studio) -> None:
    assert "tidewater" in studio.extensions.names
    assert studio.extensions.failures == ()
    book = add_book(studio, user_prompt=TEMPLATE)
    prompt = await studio.preview(book, TURN)
    assert prompt.messages[-2] == mg.Message(role="system", content="The tide is rising.")
    assert prompt.messages[-1].content == "Go on. The water is rising."
    insert = next(each for each in prompt.segments if each.kind is SegmentKind.INSERT)
    assert (insert.source, insert.reason) == ("tidewater", "the tide of this part")
    assert prompt.budget.reserved == 4 + 100


async def test_its_panel_shows_a_table_of_its_own_data(studio: mg.Studio) -> None:
    book = add_book(studio)
    (panel,) = [each for each in studio.extensions.panels if each.owner == "tidewater"]
    form = panel.panel.form
    assert form is not None
    book = form.store(book, form.kind(parts=2))
    assert book.settings["extension.tidewater"] == {"parts": 2}
    prompt = await studio.preview(book, TURN)
    shown = await studio.extensions.shown(panel, studio, book, prompt)
    assert shown == Table(columns=("Parts", "Tide"), rows=((1, "low"),))


async def test_switched_off_it_leaves_no_trace(studio: mg.Studio) -> None:
    book = add_book(studio, user_prompt=TEMPLATE)
    studio.extensions.disable("tidewater")
    assert "tidewater" not in studio.extensions.names
    assert all(each.owner != "tidewater" for each in studio.extensions.panels)
    assert studio.extensions.macros().find("tide") is None
    prompt = await studio.preview(book, TURN)
    assert "tide" not in prompt.text
    assert prompt.messages[-1].content == "Go on. The water is Error."
    assert prompt.budget.reserved == 0
    assert not any(
        studio.pipeline.hooks.heard(event)
        for event in mg.events.ALL
        if event.__name__ != "BeforePrepareContent"
    )


async def test_switched_on_again_it_works_again(studio: mg.Studio) -> None:
    book = add_book(studio)
    studio.extensions.disable("tidewater")
    assert studio.extensions.enable("tidewater")
    assert "The tide is rising." in (await studio.preview(book, TURN)).text


def test_what_was_switched_is_remembered(installed: Path, tmp_path: Path) -> None:
    path = tmp_path / "books.duckdb"
    with mg.Studio(path, tokenizer=WordTokenizer()) as studio:
        studio.extensions.disable("tidewater")
        studio.extensions.enable("snippets")
    with mg.Studio(path, tokenizer=WordTokenizer()) as studio:
        assert "tidewater" not in studio.extensions.names
        assert "snippets" in studio.extensions.names
        listed = {each.name: each for each in studio.extensions.all()}
        assert not listed["tidewater"].on
        assert listed["tidewater"].description == "Tells the model how high the water stands."


def test_a_package_that_does_not_load_is_shown_with_its_name(installed: Path) -> None:
    (installed / "tidewater" / "__init__.py").write_text("raise RuntimeError('the sea is away')")
    with mg.Studio(":memory:", tokenizer=WordTokenizer()) as studio:
        assert [(each.name, str(each.error)) for each in studio.extensions.failures] == [
            ("tidewater", "the sea is away")
        ]
        assert studio.extensions.all()[-1].problem == "the sea is away"
        assert "authors-note" in studio.extensions.names


@pytest.mark.parametrize(
    "source",
    ["Tidewater = dict", "class Tidewater:\n    name = 7", "class Tidewater:\n    name = 'tidewater'\n    api = 'new'",
     "Tidewater = 1", "x = 1", "class Tidewater:\n    name = 'tidewater'"],
)  # fmt: skip
def test_whatever_a_package_offers_the_studio_opens(installed: Path, source: str) -> None:
    (installed / "tidewater" / "__init__.py").write_text(source)
    with mg.Studio(":memory:", tokenizer=WordTokenizer()) as studio:
        assert [each.name for each in studio.extensions.failures] == ["tidewater"]
        assert "authors-note" in studio.extensions.names
