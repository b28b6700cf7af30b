"""The mistakes that the type checkers are there to refuse (tests/typing/reject.py)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MARKED = {
    number
    for number, line in enumerate((HERE / "reject.py").read_text(encoding="utf-8").splitlines(), start=1)
    if "# E: " in line
}


@pytest.mark.parametrize(
    "checker",
    [("pyright", "--level", "error"), ("mypy", "--strict", "--no-error-summary", "--no-incremental")],
    ids=lambda words: words[0],
)
def test_the_checker_refuses_exactly_the_marked_lines(checker: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", *checker, str(HERE / "reject.py")]
    output = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE.parents[1]).stdout
    refused = {int(line) for line in re.findall(r"reject\.py:(\d+).*?error", output)}
    assert refused == MARKED, output
