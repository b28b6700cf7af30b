"""Asking language models: any OpenAI-compatible server, and the small model that comes with Marginalia."""

from __future__ import annotations

from marginalia.inference.models import Models

__all__ = ["Models"]
