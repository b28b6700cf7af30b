"""Which servers may be asked: a list that whoever runs Marginalia for several people sets once for all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self
from urllib.parse import SplitResult, urlsplit

from marginalia.errors import InvalidInput, ModelError, ModelErrorKind

VARIABLE = "MARGINALIA_PROVIDER_HOSTS"
_PORTS = {"http": 80, "https": 443}
_NAME = re.compile(r"(?:\*\.)?[a-z0-9_.:-]+|\[[0-9a-f:.]+\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosts:
    """The hosts that may be asked; without ``names``, all.

    A name stands for all its ports unless it has one (``models.example:8443``); ``*.models.example`` stands for
    everything below that domain, and not for the domain itself. Names are compared as they are written: one that
    resolves to an allowed address is another name. The bundled model is always allowed.
    """

    names: tuple[str, ...] = ()

    @classmethod
    def listed(cls, words: str | Iterable[str]) -> Self:
        """The hosts in a list, or in a text with commas or blanks between them.

        Raises ``InvalidInput`` for what is no host.
        """
        found = re.split(r"[\s,]+", words) if isinstance(words, str) else [each.strip() for each in words]
        return cls(names=tuple(dict.fromkeys(_named(each) for each in found if each)))

    def refusal(self, url: str) -> ModelError | None:
        """Why *url* is not asked; ``None`` when it may be."""
        if not self.names:
            return None
        try:
            parts = urlsplit(url.strip())
            if any(_covers(name, parts) for name in self.names):
                return None
            shown = parts.hostname
        except ValueError:  # a port that is no number, brackets that do not close
            shown = None
        return ModelError(
            ModelErrorKind.PERMISSION,
            f"This server of Marginalia does not ask “{shown or url}”. Whoever runs it allows only these hosts: "
            f"{', '.join(self.names)}. Choose one of them, or ask for another.",
        )

    def check(self, url: str) -> None:
        """Raise what :meth:`refusal` gives for *url*."""
        error = self.refusal(url)
        if error is not None:
            raise error


def _named(word: str) -> str:
    name = word.strip().casefold()
    host, port = _split(name)
    if not _NAME.fullmatch(host) or not (port.isdecimal() or not port):
        raise InvalidInput(
            f"“{word}” is no host. Write a name, an address, or a name with a port, like models.example:8443; "
            "*.models.example stands for all hosts below a domain."
        )
    return name


def _split(name: str) -> tuple[str, str]:
    """Host and port of a name; an IPv6 address with a port stands in brackets."""
    if name.startswith("[") and "]" in name:
        host, _, port = name.rpartition("]")
        return f"{host}]", port.removeprefix(":")
    if name.count(":") == 1:
        host, _, port = name.partition(":")
        return host, port
    return name, ""


def _covers(name: str, asked: SplitResult) -> bool:
    host, port = _split(name)
    here = (asked.hostname or "").rstrip(".")
    if port and int(port) != (asked.port or _PORTS.get(asked.scheme.casefold(), 0)):
        return False
    if host.startswith("*."):
        return here.endswith(host[1:]) and len(here) > len(host) - 1
    return bool(here) and here == host.strip("[]")
