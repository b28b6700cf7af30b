"""The page of a session is small, and in a notebook the studio shows it."""

from __future__ import annotations

import time
import urllib.request

import pytest
from bokeh.document import Document

from marginalia import Studio
from marginalia.ui import notebook
from marginalia.ui.app import extension, page


@pytest.fixture
def studio() -> Studio:
    return Studio(":memory:", extensions=())


def test_a_session_is_built_in_less_than_the_blink_that_the_others_may_notice(studio: Studio) -> None:
    extension()
    page(studio).server_doc(Document())
    start = time.process_time()
    page(studio).server_doc(Document())
    # What the figure is about, 0.4 s, is a machine that does nothing else; so time of this process is counted.
    assert time.process_time() - start < 0.4
    studio.close()


def test_a_notebook_cell_shows_the_app_and_two_cells_share_one_server(studio: Studio) -> None:
    bundle = notebook.mimebundle(studio)
    assert bundle == notebook.mimebundle(studio)
    address = bundle["text/plain"].removeprefix("Marginalia at ")
    with urllib.request.urlopen(address, timeout=30) as answer:  # noqa: S310 - our own server
        assert b"Marginalia" in answer.read()
    notebook.end(studio)
    studio.close()
