"""``python -m tests.conformance CASES.json [--area A]... [--id I]... [-v]``."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.conformance.case import load
from tests.conformance.forms import Small, small_cases
from tests.conformance.runner import run
from tests.conformance.verdicts import SECONDS_PER_CASE, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Run the cases and print what failed; 1 when something did."""
    options = _options(arguments)
    small = small_cases(options.cases, areas=options.area, ids=options.id)
    if small is not None:
        return _run_small(small, verbose=options.verbose)
    began = time.monotonic()
    cases = load(options.cases, areas=options.area, ids=options.id)

    def told(verdict: Verdict) -> None:
        if verdict.problems or options.verbose:
            print(_report(verdict), flush=True)

    verdicts = run(cases, workers=options.workers, limit=options.limit, told=told)
    failed = sum(1 for each in verdicts if not each.passed)
    if options.verbose:
        print(f"{time.monotonic() - began:.1f} s")
    print(f"{len(verdicts) - failed} passed, {failed} failed")
    return 1 if failed else 0


def _run_small(cases: Sequence[Small], *, verbose: bool) -> int:
    """Cases of macros or of the wire: functions, run one after the other."""
    failed = 0
    for case in cases:
        try:
            problems = case.problems()
        except Exception as error:  # noqa: BLE001 - a case that breaks the product has failed, and the next one runs
            problems = [f"raised {type(error).__name__}: {error}"]
        failed += bool(problems)
        if problems or verbose:
            word = "FAIL" if problems else "ok  "
            print("\n".join([f"{word} {case.id} {case.title}", *(f"       {each}" for each in problems)]))
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("cases", type=Path, help="a JSON file of cases")
    parser.add_argument("--area", action="append", default=[], help="only this area; may be repeated")
    parser.add_argument("--id", action="append", default=[], help="only this case; may be repeated")
    parser.add_argument("--workers", type=int, default=8, help="how many cases run at once")
    parser.add_argument("--limit", type=float, default=SECONDS_PER_CASE, help="seconds that a case may take")
    parser.add_argument("-v", "--verbose", action="store_true", help="name the cases that pass, too")
    return parser.parse_args(arguments)


def _report(verdict: Verdict) -> str:
    case = verdict.case
    word = "ok  " if verdict.passed else "FAIL"
    head = f"{word} {case.id} ({case.level}) {case.title} [{verdict.seconds:.1f} s]"
    return "\n".join([head, *(f"       {problem}" for problem in verdict.problems)])


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    status = main(sys.argv[1:])
    sys.stdout.flush()
    # A case that hangs for ever holds threads that nobody can end; they must not hold up the exit.
    os._exit(status)
