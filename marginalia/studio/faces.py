"""The studio in a notebook. The interface lies above this layer and is heavy: it is asked for by name, when needed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any

_NOTEBOOK = "marginalia.ui.notebook"
_STILLS = "marginalia.ui.stills"
_LIVE = "marginalia.ui.live"
_SHOWN = (
    ("marginalia.prompt.segments", "Prompt"),
    ("marginalia.prompt.segments", "LoreList"),
    ("marginalia.prompt.budget", "Budget"),
    ("marginalia.prompt.diff", "Diff"),
    ("marginalia.prompt.receipt", "Receipt"),
    ("marginalia.prompt.timeline", "Timeline"),
    ("marginalia.story.tree", "StoryTree"),
    ("marginalia.studio.reruns", "Rerun"),
)


def mimebundle(studio: object) -> Mapping[str, Any]:
    """What a notebook cell shows for *studio*: the app."""
    bundle: Mapping[str, Any] = importlib.import_module(_NOTEBOOK).mimebundle(studio)
    return bundle


def announce() -> None:
    """Have what a studio gives show itself with the app's own panels, where this runs in a notebook's kernel."""
    ipython: Any = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is None:
        return
    display = shell.display_formatter
    for module, name in _SHOWN:
        display.formatters["text/html"].for_type_by_name(module, name, _panel)
    display.ipython_display_formatter.for_type_by_name("marginalia.pipeline.run", "Run", _live)


def end_notebook(studio: object) -> None:
    """End the server that shows *studio* in a notebook, if there is one."""
    notebook = sys.modules.get(_NOTEBOOK)
    if notebook is not None:
        notebook.end(studio)


def _panel(thing: object) -> str:
    shown: str = importlib.import_module(_STILLS).html(thing)
    return shown


def _live(run: object) -> None:
    importlib.import_module(_LIVE).show(run)
