"""The page of a session is small, and in a notebook the studio shows it."""

from __future__ import annotations

import urllib.request

import pytest
from bokeh.document import Document

from marginalia import Studio
from marginalia.ui import notebook
from marginalia.ui.app import Session, extension


@pytest.fixture
def studio() -> Studio:
    return Studio(":memory:", extensions=())


async def test_a_session_is_made_of_few_models_and_what_opens_over_it_comes_later(studio: Studio) -> None:
    """Every model takes its share of building a page, which others wait for; ``benchmarks/people.py`` has the time."""
    extension()
    document = Document()
    session = Session(studio)
    session.page.server_doc(document)
    at_first = len(document.models)
    assert at_first < 85
    await session._open()
    assert at_first < len(document.models) < 120
    await studio.aclose()


async def test_the_colours_that_the_browser_tells_before_the_page_has_loaded_are_shown_then(
    studio: Studio,
) -> None:
    extension()
    session = Session(studio)
    session._shell._scheme({"dark": True})
    assert not session.page.dark_theme  # what is changed before then does not get to the browser
    session._shell.load()
    assert session.page.dark_theme
    await studio.aclose()


def test_a_notebook_cell_shows_the_app_and_two_cells_share_one_server(studio: Studio) -> None:
    bundle = notebook.mimebundle(studio)
    assert bundle == notebook.mimebundle(studio)
    address = bundle["text/plain"].removeprefix("Marginalia at ")
    with urllib.request.urlopen(address, timeout=30) as answer:  # noqa: S310 - our own server
        assert b"Marginalia" in answer.read()
    notebook.end(studio)
    studio.close()
