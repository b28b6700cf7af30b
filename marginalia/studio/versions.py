"""The versions that receipts and backups name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from marginalia.prompt.tokens import Tokenizer


def versions(tokenizer: Tokenizer) -> Mapping[str, str]:
    """Ours, ``unknown`` when run from a folder that was never installed, and the tokenizer's name."""
    try:
        ours = version("marginalia")
    except PackageNotFoundError:
        ours = "unknown"
    return {"marginalia": ours, "tokenizer": tokenizer.name}
