"""What one person may ask of a shared server at once, and which hosts it asks: set by whoever runs it."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Self

from marginalia.errors import Busy, InvalidInput
from marginalia.inference.hosts import VARIABLE as HOSTS_VARIABLE
from marginalia.inference.hosts import Hosts

RUNS_VARIABLE = "MARGINALIA_RUNS_PER_USER"
SUMMARIES_VARIABLE = "MARGINALIA_SUMMARIES_PER_USER"


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseRules:
    """How many generations and summaries each person may have going at once (0: any number), and ``hosts``."""

    runs: int = 0
    summaries: int = 0
    hosts: Hosts = field(default_factory=Hosts)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """The rules that the process was started with; raises ``InvalidInput`` for what is no number or no host."""
        return cls(
            runs=_number(environment, RUNS_VARIABLE),
            summaries=_number(environment, SUMMARIES_VARIABLE),
            hosts=Hosts.listed(environment.get(HOSTS_VARIABLE, "")),
        )

    def refuse_run(self, going: int) -> None:
        """Raise ``Busy`` for one more generation of a person who has *going* already."""
        if 0 < self.runs <= going:
            raise Busy(
                f"{_counted(going, 'of your books is', 'of your books are')} being written to at this moment, and this "
                f"server lets each person have {self.runs} at once. Wait until one is done, or stop it."
            )


class Turnstile:
    """Counts what one person has going, and lets nobody in beyond *most* (0: lets everybody in). Any thread."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._inside = 0
        self._lock = Lock()

    @contextmanager
    def summary(self) -> Generator[None]:
        """While one summary is written; raises ``Busy`` where there is one too many."""
        with self._lock:
            if 0 < self._most <= self._inside:
                raise Busy(
                    f"{_counted(self._inside, 'of your summaries is', 'of your summaries are')} being written at this "
                    f"moment, and this server lets each person have {self._most} at once. Wait until one is done."
                )
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1


def _counted(number: int, one: str, many: str) -> str:
    return f"1 {one}" if number == 1 else f"{number} {many}"


def _number(environment: Mapping[str, str], variable: str) -> int:
    text = environment.get(variable, "").strip() or "0"
    if not text.isdecimal():
        raise InvalidInput(f"{variable} is “{text}”. It has to be a whole number; 0 sets no limit.")
    return int(text)
