"""Asking language models: any OpenAI-compatible server, and the small model that comes with Marginalia."""

from __future__ import annotations

from marginalia.inference.calibrated import Calibration, Calibrations
from marginalia.inference.dialect import Dialect
from marginalia.inference.keys import KeyStore
from marginalia.inference.local import LocalModel, LocalStatus
from marginalia.inference.models import Models
from marginalia.inference.probe import ConnectionReport
from marginalia.inference.tokenizers import TiktokenTokenizer

__all__ = [
    "Calibration",
    "Calibrations",
    "ConnectionReport",
    "Dialect",
    "KeyStore",
    "LocalModel",
    "LocalStatus",
    "Models",
    "TiktokenTokenizer",
]
