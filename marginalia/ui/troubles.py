"""What a page says when something fails: the sentence, and the one thing that can be done about it."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from marginalia.errors import MarginaliaError, ModelError, ModelErrorKind, StoreError, ValidationProblem

_log = logging.getLogger(__name__)

_AT_THE_MODEL = {
    ModelErrorKind.AUTH,
    ModelErrorKind.PERMISSION,
    ModelErrorKind.UNKNOWN_MODEL,
    ModelErrorKind.NOT_FOUND,
    ModelErrorKind.CONNECTION,
    ModelErrorKind.BAD_REQUEST,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A sentence for people; ``action`` names what the button with ``label`` does (empty: no button).

    A ``calm`` one says what was done, and is shown as such; the others say what went wrong.
    Actions are ``retry``, ``model``, ``protocol``, ``book`` (open that page of the settings) and ``undo``.
    """

    text: str = ""
    action: str = ""
    label: str = ""
    calm: bool = False

    def shown(self) -> dict[str, str | bool]:
        """As the turn panel takes it."""
        if not self.text:
            return {}
        return {"text": self.text, "action": self.action, "label": self.label, "calm": self.calm}


QUIET = Notice()


def notice_of(error: Exception) -> Notice:  # noqa: PLR0911 - one return per kind
    """What to say about *error*: its own sentence if it was raised on purpose, else that a fault is in the log."""
    match error:
        case ModelError(kind=ModelErrorKind.CONTEXT_OVERFLOW):
            return Notice(text=str(error), action="protocol", label="Open limits")
        case ModelError() if error.kind in _AT_THE_MODEL:
            return Notice(text=str(error), action="model", label="Open model")
        case ModelError():
            return Notice(text=str(error), action="retry", label="Try again")
        case ValidationProblem():
            return _refused(str(error))
        case StoreError():
            return Notice(text=str(error), action="retry", label="Try again")
        case MarginaliaError():
            return Notice(text=str(error))
        case _:
            _log.error("A fault of Marginalia itself.", exc_info=error)
            return Notice(
                text=f"Something in Marginalia itself went wrong ({type(error).__name__}). "
                "The story is as it was; the details stand in the server's log.",
                action="retry",
                label="Try again",
            )


def _refused(text: str) -> Notice:
    """The specification's own refusals, with where they are mended."""
    if "model" in text:
        hint = " Connect one, or choose one for this book."
        return Notice(text=text + hint, action="model", label="Connect a model")
    if "protocol" in text:
        return Notice(text=text + " Choose how the model is asked.", action="book", label="Choose a protocol")
    if "limit" in text:
        hint = (
            " The fixed part of the prompt is larger than the context: give it more room, or switch lore off."
        )
        return Notice(text=text + hint, action="protocol", label="Open limits")
    return Notice(text=text)
