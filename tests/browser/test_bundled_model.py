"""The first evening: the sample book, the model that comes with Marginalia, nothing set up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from marginalia import Studio
from marginalia.inference.local import LocalModel
from tests.browser.conftest import App

pytestmark = [pytest.mark.browser, pytest.mark.model]

_PATIENCE = 120_000


def test_the_bundled_model_writes_in_steps_and_stops_when_told(
    start_app: Callable[[], App], open_page: Callable[..., Page]
) -> None:
    if reason := LocalModel().why_absent():
        pytest.skip(reason)
    page = open_page(start_app().url)
    page.get_by_label("Instructions").fill("Mara asks him his name.")
    page.get_by_role("button", name="Generate", exact=True).click()
    part = page.get_by_role("article", name="Part 3")
    lengths = _growing(page, part.locator(".flow"), 3)
    assert lengths == sorted(set(lengths))
    page.get_by_role("button", name="Stop").click()
    expect(part).to_contain_text("what had come was kept")
    page.get_by_role("button", name="Swipe").click()
    expect(part).to_contain_text("2/2")
    _growing(page, part.locator(".flow"), 2)
    page.get_by_role("button", name="Stop").click()
    expect(part.get_by_role("button", name="Previous version")).to_be_visible()
    kept = part.locator(".prose").inner_text()
    assert kept.strip()
    page.reload()
    expect(part.locator(".prose")).to_contain_text(kept.split("\n")[0])


def _growing(page: Page, prose: object, steps: int) -> list[int]:
    """The lengths of a text that grows, until it has grown *steps* times."""
    lengths: list[int] = []
    for _ in range(_PATIENCE // 100):
        page.wait_for_timeout(100)
        length = len(prose.inner_text()) if prose.count() else 0
        if length and (not lengths or length > lengths[-1]):
            lengths.append(length)
        if len(lengths) >= steps:
            return lengths
    raise AssertionError(f"The text grew only {len(lengths)} times.")


def test_the_bundled_model_writes_two_summaries_which_are_merged(
    tmp_path: Path, start_app: Callable[[], App], open_page: Callable[..., Page]
) -> None:
    if reason := LocalModel().why_absent():
        pytest.skip(reason)
    with Studio(tmp_path / "marginalia.db") as studio:
        provider = studio.providers.create(
            name="Bundled", kind="bundled", model="SmolLM2-135M-Instruct", max_context=1024, max_response=24
        )
        book = studio.books.create(name="B", provider=provider, protocol=studio.protocols.create(name="P"))
        for text in ("Mara lit the lamp.", "Elias found the key under the stairs."):
            studio.story.append(book, text)
    page = open_page(start_app().book(1))
    page.get_by_role("tab", name="Summaries").click()
    summaries = page.get_by_role("region", name="Summaries")
    for number in (1, 2):
        page.get_by_role("button", name=f"Menu of part {number}", exact=True).click()
        page.get_by_role("menuitem", name="Summary").click()
        written = summaries.get_by_role("article", name=f"Summary #{number}", exact=True)
        expect(written).to_be_visible(timeout=_PATIENCE)
        assert written.inner_text().strip()
    for number in (1, 2):
        summaries.get_by_label(f"Choose summary #{number}").check()
    summaries.get_by_role("button", name="Merge").click()
    expect(summaries.get_by_role("article", name="Summary #1\u2013#2")).to_be_visible(timeout=_PATIENCE)
    summaries.get_by_role("button", name="Unwind").click()
    expect(summaries.get_by_role("article", name="Summary #2", exact=True)).to_be_visible()
