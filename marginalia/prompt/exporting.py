"""A prompt as something to paste elsewhere: readable text, the JSON body of the request, a curl command without key."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

from marginalia.prompt.segment import Sent

_SECRET = (
    "api_key",
    "apikey",
    "secret",
    "password",
    "authorization",
    "credential",
    "access_token",
    "auth_token",
)
_HIDDEN = "…"
_END = "END_OF_BODY"


def as_text(sent: Sent) -> str:
    """The messages as one readable text, each under its role."""
    return "\n\n".join(f"[{each.role}]\n{each.content}" for each in sent.messages)


def as_json(body: Mapping[str, Any]) -> str:
    """The body of the request, indented, without anything that looks like a secret."""
    return json.dumps(without_secrets(body), ensure_ascii=False, indent=2)


def as_curl(url: str, body: Mapping[str, Any], *, needs_key: bool) -> str:
    """A command for a POSIX shell that sends *body* to *url*. The key is read from ``$API_KEY``, never part of it.

    The body stands behind the command: as an argument it could be longer than a system takes, 128 KiB on Linux. No line
    of it can be its end, because JSON has no line breaks in its texts.
    """
    lines = [
        f"curl --no-buffer {shlex.quote(_bare(url))}",
        "  -H 'Content-Type: application/json'",
        *(['  -H "Authorization: Bearer $API_KEY"'] if needs_key else []),
        f"  --data-binary @- <<'{_END}'",
    ]
    return "\n".join((" \\\n".join(lines), as_json(body), _END))


def without_secrets(value: object) -> Any:  # noqa: ANN401 - JSON of any kind
    """*value* with an ellipsis in the place of everything whose name says that it is a secret."""
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, object]", value).items()
        return {name: _HIDDEN if _is_secret(name) else without_secrets(each) for name, each in pairs}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [without_secrets(each) for each in cast("Sequence[object]", value)]
    return value


def _is_secret(name: str) -> bool:
    plain = name.lower().replace("-", "_")
    return any(word in plain for word in _SECRET) or plain in {"key", "token"}


def _bare(url: str) -> str:
    """*url* without a name, a password or parameters in it, any of which may be a secret."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
