"""What a person has set, out of whatever was kept."""

from __future__ import annotations

import pytest

from marginalia.models import Preferences, preferences


@pytest.mark.parametrize("kept", [None, 3, [], "dark", {"size": "huge"}, {"font": "runes", "else": 1}])
def test_what_cannot_be_is_as_it_comes(kept: object) -> None:
    assert preferences(kept) == Preferences()


def test_what_was_kept_comes_back_and_what_is_typed_stands_over_it() -> None:
    mine = Preferences(font="legible", size=22, measure=80, theme="dark", provider_id=3)
    assert preferences(mine.kept()) == mine
    assert preferences(mine.kept(), {"size": 15}).size == 15
    assert preferences(mine.kept(), {"size": 500}).size == 22
