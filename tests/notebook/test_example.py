"""The example notebook of the documentation runs from top to bottom, and its things show themselves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebooks" / "exploring-lore.ipynb"
OUTSIDE = re.compile(r"(?:src|href|from|import\()\s*=?\s*[\"']https?://(?!127\.0\.0\.1)")


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    return client.execute()


def output_of(ran: Any, ending: str) -> str:
    """What the cell that ends like that shows."""
    cell = next(each for each in ran.cells if each.cell_type == "code" and each.source.endswith(ending))
    return "".join(str(output.get("data", {}).get("text/html", "")) for output in cell.outputs)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_example_notebook_runs_and_shows_the_panels_of_the_app(ran: Any) -> None:
    for ending in (
        "\nprompt.lore",
        "prompt",
        "prompt.budget",
        "run.timeline",
        "large.diff(small)",
        "as_it_was=False)",
    ):
        shown = output_of(ran, ending)
        assert "data-marginalia=" in shown, ending
        assert not OUTSIDE.search(shown)
    assert "<svg" in output_of(ran, "studio.story.tree(book)")
    assert "<table" in output_of(ran, "prompt.lore.frame")
    assert '<iframe src="http://127.0.0.1:' in output_of(ran, "studio")
    run = output_of(ran, "\nrun")
    assert (
        "The bell did not ring." in run
    )  # kept up to date while the next cell waited; the end may come too late for nbclient
