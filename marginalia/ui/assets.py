"""The scripts and style sheets of the components, as texts."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent / "components"


def script(*names: str) -> str:
    """The text of the scripts *names*, the helpers first; one module of its own per component."""
    return "\n".join((_HERE / f"{name}.js").read_text(encoding="utf-8") for name in ("dom", *names))


def style(*names: str) -> list[str]:
    """The style sheets *names*, the shared one first, the one for fingers last."""
    return [(_HERE / f"{name}.css").read_text(encoding="utf-8") for name in ("base", *names, "touch")]
