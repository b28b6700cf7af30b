"""The error tree of Marginalia.

Every error that a person may see carries plain sentences: what happened, to what, and what to do::

    MarginaliaError
    ├── InvalidInput            a value that cannot be used; names the value and the way out
    │   └── NotFound            nothing has that id (or it belongs to somebody else)
    ├── Refused                 a listener or step ends the run on purpose, with a sentence for the writer
    │   └── ValidationProblem   the specification's own refusals (missing model, context too small ...)
    ├── ContextOverflow         a summary that would not fit the context; has both numbers
    ├── Busy                    the book is being written to already
    ├── TemplateError           a template that does not compile, or went over its budget
    ├── StoreError              the database
    │   ├── StoreLocked         another process holds the file
    │   ├── StoreDamaged        the file cannot be read
    │   ├── StoreFull           no space left on the disk
    │   └── StoreTooNew         written by a newer version
    ├── ModelError              a provider's failure, translated once; has a ``kind`` and what the server said
    └── FormatError             a file that is none of the known formats
"""

from __future__ import annotations

from enum import StrEnum


class MarginaliaError(Exception):
    """The root of every error this library raises on purpose."""


class InvalidInput(MarginaliaError, ValueError):
    """A value that cannot be used; the text names it and says what would be accepted."""


class NotFound(InvalidInput, LookupError):
    """Nothing has that id, or it belongs to another user."""


class Refused(MarginaliaError):
    """Raised by a listener or a step to end a run on purpose; the text is shown to the writer as it is."""


class ValidationProblem(Refused):
    """A run that cannot start or go on, in the words of the specification."""


class ContextOverflow(MarginaliaError):
    """A text that is too long for the model's context. ``tokens`` is what it has, ``room`` what it may have."""

    def __init__(self, tokens: int, room: int) -> None:
        super().__init__(
            f"The text to summarise has about {tokens} tokens, and the model can take {room}. "
            "Summarise an earlier part first, or choose a model with a larger context."
        )
        self.tokens = tokens
        self.room = room


class Busy(MarginaliaError):
    """A second run was asked for on a book that has one already."""


class TemplateError(MarginaliaError):
    """A template that does not compile or went over its budget of steps, output or depth."""


class StoreError(MarginaliaError):
    """The database refused or failed; nothing that was acknowledged is lost."""


class StoreLocked(StoreError):
    """Another process holds the database file."""


class StoreDamaged(StoreError):
    """The database file cannot be read as one."""


class StoreFull(StoreError):
    """No space is left on the disk of the database."""


class StoreTooNew(StoreError):
    """The database was written by a newer version of Marginalia."""


class FormatError(MarginaliaError):
    """A file that is none of the known formats, or is broken."""


class ModelErrorKind(StrEnum):
    """The few kinds of failure a provider can have, each with its own advice."""

    AUTH = "auth"
    PERMISSION = "permission"
    UNKNOWN_MODEL = "unknown_model"
    NOT_FOUND = "not_found"
    CONTEXT_OVERFLOW = "context_overflow"
    RATE_LIMIT = "rate_limit"
    SERVER = "server"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    BAD_REQUEST = "bad_request"
    UNKNOWN = "unknown"


class ModelError(MarginaliaError):
    """A failure of a provider: ``str(error)`` is our sentence for its kind, then what the server said.

    ``detail`` holds the server's own words alone (at most 400 characters, may be empty), ``retry_after`` the
    seconds it asked to wait, ``status`` the HTTP status if there was one.
    """

    def __init__(
        self,
        kind: ModelErrorKind,
        text: str,
        *,
        detail: str = "",
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{text} {detail}".strip())
        self.kind = kind
        self.text = text
        self.detail = detail
        self.status = status
        self.retry_after = retry_after
