"""The runner says what failed and why, and no case can hold it up."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance import runner
from tests.conformance.__main__ import main
from tests.conformance.case import Case, Json, built, load
from tests.conformance.verdicts import judge

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GIVEN = {
    "provider": {
        "name": "Stub",
        "model": "stub",
        "max_context": 4000,
        "max_response": 500,
        "timeout_seconds": 60,
    },
    "protocol": {"name": "Plain"},
    "book": {"name": "Book", "user_prompt": "{{instructions}}", "master_template": "S"},
}
SILENT: dict[str, Any] = {"do": "generate", "request": {"type": "NEW_MESSAGE"}, "model": [{"kind": "silent"}]}


def case(when: list[Json], then: Json) -> Case:
    return Case(id="X-1", area="x", title="a case", level="must", given=GIVEN, when=when, then=then)


async def test_a_wrong_expectation_is_told_with_what_came_out() -> None:
    verdict = await judge(case([{"do": "token_limits"}], {"context": 4000, "response": 7}))
    assert verdict.problems == ("response: expected 7, got 500",)


async def test_a_key_that_cannot_be_observed_is_a_failure() -> None:
    verdict = await judge(case([{"do": "token_limits"}], {"colour": None}))
    assert verdict.problems == ("colour: the adapter cannot observe 'colour' after this operation",)


async def test_an_action_that_nobody_knows_is_a_failure() -> None:
    listener = {"event": "BEFORE_PREPARE_GENERATION", "actions": [{"sing": 1}, "cancel"]}
    verdict = await judge(case([SILENT | {"listeners": [listener]}], {"end": "CANCELLED"}))
    assert verdict.problems == ("the adapter knows no action ['sing']",)


async def test_a_part_that_never_came_to_be_is_named() -> None:
    verdict = await judge(case([{"do": "swipe_to", "part": "N9"}], {}))
    assert "'N9', which never came to be" in verdict.problems[0]


async def test_a_case_that_hangs_fails_after_its_time() -> None:
    began = time.monotonic()
    verdict = await judge(case([SILENT], {"end": "COMPLETED"}), limit=0.5)
    assert verdict.problems == ("it took longer than 0.5 s",)
    assert time.monotonic() - began < 5


def test_a_case_that_blocks_its_thread_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_GRACE_SECONDS", 0.1)
    operations = Blocked()
    blocking = replace(case([], {}), id="X-2", when=operations)
    good = case([{"do": "token_limits"}], {"context": 4000})
    verdicts = runner.run([blocking, good], workers=2, limit=4)
    operations.released.set()
    assert [each.passed for each in verdicts] == [False, True]
    assert verdicts[0].problems[0].startswith("it hangs")
    for thread in threading.enumerate():
        if thread.name == "X-2":
            thread.join(10)  # it must not live on into the end of the process


class Blocked(list[Any]):
    """Operations that take for ever to look at."""

    def __init__(self) -> None:
        super().__init__([{"do": "token_limits"}])
        self.released = threading.Event()

    def __iter__(self) -> Iterator[Any]:
        self.released.wait(60)
        return super().__iter__()


def test_the_command_names_what_failed_and_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ops = [{"do": "token_limits"}]
    cases = [
        {"id": "A-1", "area": "a", "given": GIVEN, "when": ops, "then": {"context": 4000}},
        {"id": "A-2", "area": "a", "title": "two", "given": GIVEN, "when": ops, "then": {"context": 1}},
        {"id": "B-1", "area": "b", "given": GIVEN, "when": ops, "then": {"context": 1}},
    ]
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(cases))
    assert main([str(path), "--area", "a"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("FAIL A-2 (must) two")
    assert lines[1].strip() == "context: expected 1, got 4000"
    assert lines[-1] == "1 passed, 1 failed"
    assert main([str(path), "--id", "A-1"]) == 0
    assert [each.id for each in load(path, areas=["b"])] == ["B-1"]


def test_repeated_text_is_built() -> None:
    assert built({"a": [{"$repeat": ["ab", 3]}]}) == {"a": ["ababab"]}
