"""Running one case and saying whether it came out as expected."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

import marginalia as mg
from tests.conformance import observing
from tests.conformance.given import world_of
from tests.conformance.matchers import mismatches
from tests.conformance.observing import Observation
from tests.conformance.operations import OPERATIONS, Operation
from tests.conformance.seen import MISSING
from tests.conformance.world import NotBuiltYetError, World

if TYPE_CHECKING:
    from datetime import datetime

    from tests.conformance.case import Case, Json, Value

SECONDS_PER_CASE = 40.0

_ORDINALS = ("first", "second", "third", "fourth", "fifth")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a case came to: no problems means that it passed."""

    case: Case
    problems: tuple[str, ...]
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether everything was as expected."""
        return not self.problems


@dataclass(slots=True, kw_only=True)
class Played:
    """The operations of a case and what was seen after each."""

    world: World
    ops: list[tuple[Json, Observation]]
    final: Observation

    def labelled(self, label: str) -> Observation | None:
        """The operation with that ``as`` label."""
        return next((seen for op, seen in self.ops if op.get("as") == label), None)


@dataclass(slots=True, kw_only=True)
class Around:
    """What matchers may ask about the case, for one operation of it."""

    played: Played
    here: Observation

    def named_time(self, name: str) -> datetime | None:
        """When the operation began or ended."""
        return {"op_start": self.here.began, "op_end": self.here.ended}.get(name)

    def named_value(self, name: str) -> Value:
        """A value beside, an operation, or a value of an operation."""
        if name in self.here.values:
            return self.here.values[name]
        label, _, key = name.partition(".")
        other = self.played.labelled(label)
        if other is None:
            return MISSING
        return other.values.get(key, MISSING) if key else other.values

    def ids_of(self, label: str) -> tuple[str, ...]:
        """A part's number in the branch is for people, its ids are for everybody."""
        part = self.played.world.part(label)
        return (str(part.id), part.uid)


async def judge(case: Case, limit: float = SECONDS_PER_CASE) -> Verdict:
    """Run a case; what goes wrong in it is its verdict, never an exception."""
    began = anyio.current_time()
    try:
        with anyio.fail_after(limit):
            async with world_of(case) as world:
                problems = await _problems(world)
    except TimeoutError:
        problems = [f"it took longer than {limit} s"]
    except NotBuiltYetError as missing:
        problems = [f"not built yet: {missing}"]
    except Exception as error:  # noqa: BLE001 - the isolation border between cases
        problems = [_told(error)]
    return Verdict(case=case, problems=tuple(problems), seconds=anyio.current_time() - began)


def _told(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, AttributeError) and _is_product(error.obj):
        return f"not built yet: {error}"
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({place.filename.rpartition('/')[2]}:{place.lineno})"


def _is_product(owner: object) -> bool:
    return owner is mg or type(owner).__module__.startswith("marginalia.")


async def _problems(world: World) -> list[str]:
    case = world.case
    named = _same_as_names(case.then)
    ops: list[tuple[Json, Observation]] = []
    for at, op in enumerate(case.when):
        began = world.clock()
        world.made["expected"] = _expected_of(case, at)
        observers = await _operation(op)(world, op)
        seen = Observation(began=began, ended=world.clock(), observers=observers)
        if not op.get("background"):
            seen.look(_keys(_expected_of(case, at)) | (named & observers.keys()))
        ops.append((op, seen))
    await _end_background(world, ops)
    final = Observation(
        began=ops[0][1].began, ended=world.clock(), observers=observing.state_observers(world)
    )
    final.look(_keys(case.then.get("final", {})))
    return [*world.problems, *_compare(Played(world=world, ops=ops, final=final))]


async def _end_background(world: World, ops: list[tuple[Json, Observation]]) -> None:
    for finish in world.background:
        await finish()
    for at, (op, seen) in enumerate(ops):
        if op.get("background"):
            seen.look(_keys(_expected_of(world.case, at)))
            seen.ended = world.clock()


def _same_as_names(value: Value) -> set[str]:
    if isinstance(value, list):
        return set().union(*(_same_as_names(each) for each in value)) if value else set()
    if not isinstance(value, Mapping):
        return set()
    found = {value[name].rpartition(".")[2] for name in ("$same_as",) if name in value}
    found |= {"content"} if "$same_content_as" in value else set()
    return found.union(*(_same_as_names(each) for each in value.values()))


def _expected_of(case: Case, at: int) -> Json:
    """What is expected of one operation: what stands under its label, or for a single one directly."""
    label = case.when[at].get("as")
    found: Json = case.then.get(label, {}) if label is not None else {}
    if len(case.when) == 1 and not found:
        return {name: each for name, each in case.then.items() if name != "final"}
    return found


def _keys(expected: Json) -> set[str]:
    return {name for name in expected if not name.startswith("$")}


def _operation(op: Json) -> Operation:
    if op["do"] not in OPERATIONS:
        message = f"the adapter knows no operation {op['do']!r}"
        raise LookupError(message)
    return OPERATIONS[op["do"]]


def _compare(played: Played) -> Iterator[str]:
    case = played.world.case
    labels = {op["as"] for op, _ in played.ops if "as" in op}
    for at, (op, seen) in enumerate(played.ops):
        if expected := _expected_of(case, at):
            around = Around(played=played, here=seen)
            yield from mismatches(expected, seen.values, around, op.get("as", ""))
    final = Around(played=played, here=played.final)
    if "final" in case.then:
        yield from mismatches(case.then["final"], played.final.values, final, "final")
    if len(played.ops) > 1:
        for name in case.then.keys() - labels - {"final"}:
            yield from mismatches(case.then[name], _across(played, name), final, name)


def _across(played: Played, name: str) -> Value:
    """What a key means that stands over several operations without labels."""
    if name == "rendered":
        return [seen.observers["rendered"]() for _, seen in played.ops if "rendered" in seen.observers]
    if name == "sets":
        return [seen.observers["outputs"]() for _, seen in played.ops]
    if name in _ORDINALS:
        return played.ops[_ORDINALS.index(name)][1].observers["outputs"]()
    last = played.ops[-1][1]
    return last.observers[name]() if name in last.observers else observing.Unknown(name)
