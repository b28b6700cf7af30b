"""The studio: where everything is put together, and what people and programs hold in their hands."""

from __future__ import annotations

from marginalia.studio.studio import Studio

__all__ = ["Studio"]
