"""Where Marginalia keeps its things on this machine."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def home_folder() -> Path:
    """``MARGINALIA_HOME``, or the folder that the system has for a program's data. It may not exist yet."""
    chosen = os.environ.get("MARGINALIA_HOME", "").strip()
    return (
        Path(chosen).expanduser()
        if chosen
        else Path(platformdirs.user_data_path("marginalia", appauthor=False))
    )


def database_path() -> Path:
    """The database file in the home folder."""
    return home_folder() / "marginalia.db"
