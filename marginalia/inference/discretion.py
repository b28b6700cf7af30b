"""No log record carries an API key, whatever the level: not ours, and not those of the libraries that send it."""

from __future__ import annotations

import logging
from functools import cache
from threading import Lock

# What speaks HTTP for us. Filters of a logger do not hold for those below it, so each that writes is named. At level
# DEBUG they write requests and responses down, and a server may repeat the key in the head of its answer.
_LOGGERS = (
    "httpx",
    "httpcore.connection",
    "httpcore.http11",
    "httpcore.http2",
    "httpcore.proxy",
    "httpcore.socks",
)
_SHORTEST = 4  # a shorter key could be anything that is written down

_keys: set[str] = set()
_lock = Lock()


class _WithoutKeys(logging.Filter):
    """Takes every key that was ever sent out of a record, before anybody else sees it."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        shown = without_keys(text)
        if shown != text:
            record.msg, record.args = shown, ()
        return True


def keep_secret(key: str) -> None:
    """From now on, no log record of the HTTP libraries shows *key*."""
    if len(key) < _SHORTEST:
        return
    _install()
    with _lock:
        _keys.add(key)


def without_keys(text: str) -> str:
    """*text* without the keys that were sent by this process."""
    for key in tuple(_keys):
        text = text.replace(key, "…")
    return text


@cache
def _install() -> None:
    hidden = _WithoutKeys()
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(hidden)
