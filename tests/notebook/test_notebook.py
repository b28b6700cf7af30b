"""The studio in a notebook, in a real kernel."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

FETCH = """
import urllib.request
bundle = studio._repr_mimebundle_()
address = bundle['text/plain'].split()[-1]
page = urllib.request.urlopen(address, timeout=20).read().decode()
print('Marginalia' in page, address)
"""
PREVIEW = """
turn = mg.TurnInput(instructions='She reads.')
prompt = await studio.preview(studio.books.all()[0], turn)
prompt
"""
GENERATE = """
run = studio.generate(studio.books.all()[0], turn)
outcome = await run.settled()
print(type(outcome).__name__, studio.running(studio.books.all()[0]))
"""
CELLS = (
    "import marginalia as mg; studio = mg.Studio()",
    "studio",
    FETCH,
    PREVIEW,
    GENERATE,
    "await studio.aclose()",
)


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The notebook after all of its cells were run; its model is one that nobody serves, so that it ends at once."""
    monkeypatch.setenv("MARGINALIA_LOCAL_MODEL", str(tmp_path / "none.gguf"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    client = NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    return client.execute()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_cell_with_the_studio_shows_the_app_and_the_library_works_beside_it(ran: Any) -> None:
    shown, fetched, prompt, generated = (ran.cells[at].outputs for at in (1, 2, 3, 4))
    assert [output["output_type"] for output in shown] == ["execute_result"], shown
    frame = shown[0]["data"]["text/html"]
    assert re.search(r'<iframe src="http://127\.0\.0\.1:\d+/"', frame)
    assert [output.get("text") for output in fetched] == [fetched[0].get("text")], fetched
    assert fetched[0]["text"].startswith("True http://127.0.0.1:")
    assert [output["output_type"] for output in prompt] == ["execute_result"], prompt
    assert "text/html" in prompt[0]["data"]
    assert [output.get("text") for output in generated][1:] == [], generated
    assert generated[0]["text"].split() == ["Outcome", "None"]
