"""The first evening: the sample book, the model that comes with Marginalia, nothing set up."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

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
