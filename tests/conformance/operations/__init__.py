"""What cases do: one function per operation, each gives what can be observed afterwards."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from tests.conformance.case import Json
from tests.conformance.observing import Observers
from tests.conformance.operations import (
    backups,
    generation,
    lore_files,
    providers,
    summaries,
    templates,
    tree,
)
from tests.conformance.world import World

Operation: TypeAlias = Callable[[World, Json], Awaitable[Observers]]

OPERATIONS: Mapping[str, Operation] = {
    **generation.OPERATIONS,
    **summaries.OPERATIONS,
    **tree.OPERATIONS,
    **templates.OPERATIONS,
    **providers.OPERATIONS,
    **lore_files.OPERATIONS,
    **backups.OPERATIONS,
}
"""The operations by their names in the cases."""
