"""The eight steps, each a coroutine that takes what is known before it and gives what is known after it.

The names in capitals are the slots; with them a step is wrapped, replaced or taken out:
``studio.replace_step(mg.steps.PREPARE_PAYLOAD, my_step)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marginalia.pipeline.slots import (
    CLEANUP,
    GENERATE_NEW_MESSAGE,
    INFERENCE,
    PREPARE_CONSTANTS,
    PREPARE_CONTENT,
    PREPARE_GENERATION,
    PREPARE_PAYLOAD,
    PROCESS_LOREBOOK,
    Slot,
    Step,
)
from marginalia.pipeline.steps.cleanup import cleanup
from marginalia.pipeline.steps.constants import prepare_constants
from marginalia.pipeline.steps.content import prepare_content
from marginalia.pipeline.steps.inference import infer
from marginalia.pipeline.steps.lorebook import process_lorebook
from marginalia.pipeline.steps.part import generate_new_message
from marginalia.pipeline.steps.payload import prepare_payload
from marginalia.pipeline.steps.prepare import prepare_generation

STEPS: Mapping[Slot[Any, Any], Step[Any, Any]] = {
    PREPARE_GENERATION: prepare_generation,
    PREPARE_CONSTANTS: prepare_constants,
    PROCESS_LOREBOOK: process_lorebook,
    PREPARE_CONTENT: prepare_content,
    PREPARE_PAYLOAD: prepare_payload,
    GENERATE_NEW_MESSAGE: generate_new_message,
    INFERENCE: infer,
    CLEANUP: cleanup,
}
"""The installed steps, in the order in which they run."""

__all__ = [
    "CLEANUP",
    "GENERATE_NEW_MESSAGE",
    "INFERENCE",
    "PREPARE_CONSTANTS",
    "PREPARE_CONTENT",
    "PREPARE_GENERATION",
    "PREPARE_PAYLOAD",
    "PROCESS_LOREBOOK",
    "STEPS",
]
