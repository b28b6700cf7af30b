"""The studio in a notebook. The interface lies above this layer and is heavy: it is asked for by name, when needed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any

_NOTEBOOK = "marginalia.ui.notebook"


def mimebundle(studio: object) -> Mapping[str, Any]:
    """What a notebook cell shows for *studio*: the app."""
    bundle: Mapping[str, Any] = importlib.import_module(_NOTEBOOK).mimebundle(studio)
    return bundle


def end_notebook(studio: object) -> None:
    """End the server that shows *studio* in a notebook, if there is one."""
    notebook = sys.modules.get(_NOTEBOOK)
    if notebook is not None:
        notebook.end(studio)
