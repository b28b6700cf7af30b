"""The product behaves as the cases in ``cases/*.json`` say.

``specification.json`` is a selection of the black-box cases of the specification, ``vocabulary.json`` says the rest of
what cases can say, so that the adapter is known to understand all of it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.case import Case, load
from tests.conformance.verdicts import judge

FOLDER = Path(__file__).parent / "cases"
CASES = [case for path in sorted(FOLDER.glob("*.json")) for case in load(path)]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES])
async def test_case(case: Case) -> None:
    verdict = await judge(case)
    assert verdict.problems == (), case.title
