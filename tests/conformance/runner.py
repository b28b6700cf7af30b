"""Running many cases at once, each in its own thread and event loop, so that none can hold up another."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING

import anyio

from tests.conformance.verdicts import SECONDS_PER_CASE, Verdict, judge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.conformance.case import Case

_GRACE_SECONDS = 10.0


def run(
    cases: Sequence[Case],
    *,
    workers: int = 4,
    limit: float = SECONDS_PER_CASE,
    told: Callable[[Verdict], None] = lambda _: None,
) -> list[Verdict]:
    """The verdicts in the order of *cases*; *told* hears of each as soon as it is known."""
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for at in range(len(cases)):
        waiting.put(at)
    known: dict[int, Verdict] = {}
    lock = threading.Lock()

    def work() -> None:
        while True:
            try:
                at = waiting.get_nowait()
            except queue.Empty:
                return
            verdict = _within(cases[at], limit)
            with lock:
                known[at] = verdict
                told(verdict)

    threads = [threading.Thread(target=work, name=f"cases-{number}") for number in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [known[at] for at in range(len(cases))]


def _within(case: Case, limit: float) -> Verdict:
    """The verdict of a case, also when it blocks its own thread for ever."""
    answer: queue.SimpleQueue[Verdict] = queue.SimpleQueue()

    def play() -> None:
        answer.put(anyio.run(judge, case, limit))

    threading.Thread(target=play, name=case.id, daemon=True).start()
    try:
        return answer.get(timeout=limit + _GRACE_SECONDS)
    except queue.Empty:
        return Verdict(case=case, problems=(f"it hangs: no answer after {limit + _GRACE_SECONDS} s",))
