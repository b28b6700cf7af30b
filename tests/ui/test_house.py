"""The studios behind the pages: one per person, and a door where there is to be one."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from marginalia.errors import Refused
from marginalia.ui.house import House


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    house = House(tmp_path / "marginalia.db")
    yield house
    await house.aclose()
    gc.unfreeze()


async def test_each_person_has_a_studio_and_the_libraries_are_set_aside_once(house: House) -> None:
    owner, mara = house.studio_of(None), house.studio_of("mara")
    assert (owner.user, mara.user) == ("local", "mara")
    assert house.studio_of("mara") is mara
    assert house.studio_of("local") is owner
    assert gc.get_freeze_count() > 50_000  # or every collection looks through all of Panel and Bokeh


def test_without_a_login_everybody_at_this_machine_is_let_in() -> None:
    House().admit(None)
    House().admit("mara")
    House().admit("local")


def test_where_there_is_a_login_a_page_without_anybody_is_refused() -> None:
    guarded = House()
    guarded.guard()
    for house, login in ((guarded, False), (House(), True)):
        with pytest.raises(Refused, match="Nobody is signed in"):
            house.admit(None, login=login)
        house.admit("mara", login=login)


def test_only_who_is_listed_is_let_in_and_nobody_becomes_the_owner_by_a_name_elsewhere() -> None:
    listed = House()
    listed.guard(["mara", "*@example.org"])
    listed.admit("mara", vouched=True)
    listed.admit("elias@example.org", vouched=True)
    for stranger in ("elias", "mara@example.com", "local", "x@sub.example.org", "Mara"):
        with pytest.raises(Refused, match=f"“{stranger}” may not use"):
            listed.admit(stranger, vouched=True)
    with pytest.raises(Refused, match="“local” may not use"):
        House().admit("local", login=True, vouched=True)
    chosen = House()
    chosen.guard(["local"])
    chosen.admit("local", vouched=True)
