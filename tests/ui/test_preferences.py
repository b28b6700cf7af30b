"""How the page looks to a person: what is kept, what becomes of it, and what was written lately."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from marginalia import Studio
from marginalia.models import Preferences
from marginalia.testing import WordTokenizer
from marginalia.ui.preferences import (
    PANES,
    PREFERENCES,
    Panes,
    read_panes,
    read_preferences,
    save_panes,
    save_preferences,
    style_of,
    writing_rows,
)

NOW = datetime(2027, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def studio() -> Iterator[Studio]:
    with Studio(":memory:", tokenizer=WordTokenizer(), clock=lambda: NOW, extensions=()) as studio:
        yield studio


def test_what_one_sets_stays_and_the_rest_is_left_alone(studio: Studio) -> None:
    assert read_preferences(studio) == Preferences()
    save_preferences(studio, {"size": 22})
    save_preferences(studio, {"theme": "dark", "font": "no such", "size": "large"})
    assert read_preferences(studio) == Preferences(size=22, theme="dark")


def test_every_person_has_settings_of_their_own(studio: Studio) -> None:
    guest = studio.for_user("elias")
    save_preferences(guest, {"size": 25})
    assert read_preferences(studio).size == Preferences().size
    guest.close()


@pytest.mark.parametrize("kept", [None, 5, ["x"], {"left": "no", "left_width": True}, {"right_width": None}])
def test_sides_that_were_kept_wrongly_stand_as_they_come(studio: Studio, kept: object) -> None:
    studio.settings.set(PANES, kept)
    studio.settings.set(PREFERENCES, kept)
    assert read_panes(studio) == Panes()
    assert read_preferences(studio) == Preferences()


def test_a_side_is_never_so_narrow_or_wide_that_it_could_not_be_used(studio: Studio) -> None:
    save_panes(studio, Panes(left=False, left_width=3, right_width=5000))
    assert read_panes(studio) == Panes(left=False, left_width=180, right_width=900)


def test_the_column_grows_with_the_letters_and_the_characters_in_a_line() -> None:
    def width(chosen: Preferences) -> int:
        return int(style_of(chosen)["--mg-measure"].removesuffix("px"))

    usual = width(Preferences())
    assert width(Preferences(size=24)) > usual
    assert width(Preferences(measure=90)) > usual
    assert width(Preferences(font="legible")) > usual


def test_the_days_say_what_was_written_by_hand_and_by_models(studio: Studio) -> None:
    book = studio.books.create(name="Ferry")
    studio.story.append(book, "one two three")
    studio.story.append(book, "four", model="stub")
    shown = writing_rows(studio)
    assert shown["text"].startswith("Today: 3 words by hand, 1 word by models.")
    assert len(shown["days"]) == 30
    assert (shown["days"][-1]["hand_share"], shown["days"][-1]["model_share"]) == (75.0, 25.0)
    assert shown["days"][0]["text"] == "nothing written"
