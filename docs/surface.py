"""The page of the surface that extensions build on."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass

from docs.markdown import annotation, default_of, prose, table
from marginalia.extensions import api
from marginalia.extensions.manager import Extensions

SURFACE: Sequence[type] = (
    api.Extension,
    api.Host,
    api.BookData,
    api.UserData,
    api.Insert,
    api.Invocation,
    api.Facts,
    api.Panel,
    api.Form,
    api.Table,
    api.View,
    api.LoreFormat,
    api.Exporter,
)


def extension_page() -> str:
    """The surface that extensions build on."""
    parts = [f"# The extension surface, version {api.API_VERSION}\n\n{prose(api)}\n"]
    for kind in SURFACE:
        parts.append(f"## {kind.__name__}\n\n{prose(kind)}\n")
        if is_dataclass(kind):
            rows = [(f"`{each.name}`", annotation(each.type), default_of(each)) for each in fields(kind)]
            parts.append(table(("field", "type", "default"), rows))
        parts.append("".join(_methods(kind)))
    parts.append(f"## studio.extensions\n\n{prose(Extensions)}\n")
    parts.append("".join(_methods(Extensions)))
    return "\n".join(parts)


def _methods(kind: type) -> Iterator[str]:
    for name, member in vars(kind).items():
        if name.startswith("_") or not (inspect.isfunction(member) or isinstance(member, property)):
            continue
        signature = "" if isinstance(member, property) else _signature(member)
        yield (
            f"- `{name}{signature}`: " + prose(member).replace("\n", "\n  ").replace("\n  \n", "\n\n") + "\n"
        )


def _signature(function: Callable[..., object]) -> str:
    found = inspect.signature(function)
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in found.parameters.values()]
    return str(found.replace(parameters=plain[1:], return_annotation=inspect.Signature.empty))
