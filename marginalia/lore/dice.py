"""Chance from a seed: each entry has its own die in each turn, the same however often it is looked at."""

from __future__ import annotations

from hashlib import blake2b

_STEPS = 1 << 53


def draw(seed: int, name: str, what: str) -> float:
    """A number from 0 up to, never reaching, 1 for the entry called *name*; *what* tells its dice apart."""
    digest = blake2b(f"{seed}\0{what}\0{name}".encode(errors="replace"), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) / _STEPS
