"""Every failure has a sentence, and where something can be done about it, the way there."""

from __future__ import annotations

import pytest

from marginalia.errors import Busy, ModelError, ModelErrorKind, StoreFull, ValidationProblem
from marginalia.ui.troubles import notice_of


@pytest.mark.parametrize(
    ("error", "action"),
    [
        (ModelError(ModelErrorKind.AUTH, "The key was refused."), "model"),
        (ModelError(ModelErrorKind.CONNECTION, "Nobody answers."), "model"),
        (ModelError(ModelErrorKind.RATE_LIMIT, "Too many requests."), "retry"),
        (ModelError(ModelErrorKind.CONTEXT_OVERFLOW, "Too long."), "protocol"),
        (ValidationProblem("Book is missing model."), "model"),
        (ValidationProblem("Book is missing protocol."), "book"),
        (ValidationProblem("Contextual limit not sufficient."), "protocol"),
        (StoreFull("No space is left."), "retry"),
        (Busy("It is being written to."), ""),
    ],
)
def test_the_sentence_is_shown_and_the_action_leads_there(error: Exception, action: str) -> None:
    notice = notice_of(error)
    assert str(error) in notice.text
    assert notice.action == action
    assert bool(notice.label) == bool(action)


def test_a_fault_of_our_own_is_logged_and_not_dressed_up(caplog: pytest.LogCaptureFixture) -> None:
    notice = notice_of(ZeroDivisionError("division by zero"))
    assert "ZeroDivisionError" in notice.text
    assert "division by zero" in caplog.text
