from __future__ import annotations

from typing import TYPE_CHECKING

from marginalia.lore.book import Insertion, Where
from marginalia.lore.inserting import inserts
from tests.lore.helpers import active, entry, verdicts

if TYPE_CHECKING:
    from marginalia.values import Role


def deep(name: str, depth: int, role: Role = "system") -> object:
    return entry(name, insertion=Insertion.DEPTH, where=Where(depth=depth, role=role))


def test_active_entries_go_where_they_say_in_their_order() -> None:
    found = verdicts(
        entry("block", ordinal=2),
        entry("first", ordinal=1),
        entry("off", enabled=False),
        entry("user", insertion=Insertion.BEFORE_USER_PROMPT),
        entry("named", insertion=Insertion.SLOT, where=Where(slot="notes")),
        entry("nameless", insertion=Insertion.SLOT),
    )
    placed = inserts(found)
    assert active(placed.lore_block) == ["first", "block", "nameless"]
    assert active(placed.before_user_prompt) == ["user"]
    assert [(name, active(each)) for name, each in placed.slots] == [("notes", ["named"])]
    assert placed.at_depth == ()


def test_entries_of_the_same_depth_and_role_share_a_message_and_the_deepest_comes_first() -> None:
    found = verdicts(deep("a", 0), deep("b", 4, "user"), deep("c", 4), deep("d", 0), deep("e", -3))  # type: ignore[arg-type]
    places = [(each.depth, each.role, active(each.verdicts)) for each in inserts(found).at_depth]
    assert places == [(4, "system", ["c"]), (4, "user", ["b"]), (0, "system", ["a", "d", "e"])]
