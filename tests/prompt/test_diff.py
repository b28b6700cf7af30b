"""The difference between two prompts: by piece, each with its cause."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from marginalia.lore.book import Entry
from marginalia.lore.verdicts import Verdict
from marginalia.prompt.diff import ChangeKind, Diff, diff
from marginalia.prompt.receipt import EntryNote, Receipt
from marginalia.prompt.segment import Segment, SegmentKind
from marginalia.prompt.showing import lore_html
from marginalia.values import EntryId, Limits, Message

KINDS = SegmentKind
Piece = tuple[SegmentKind, str, int | None, str]


def sent(*pieces: Piece, lore: Mapping[int, str] | None = None, context: int = 4000) -> Receipt:
    """A receipt with one message per piece."""
    return Receipt(
        run_id="r",
        request="new",
        messages=tuple(Message(role="user", content=text) for *_, text in pieces),
        segments=tuple(
            Segment(
                kind=kind, message=at, start=0, end=len(text), tokens=len(text.split()), source=source,
                source_id=number, reason=f"Reason of {source}.",
            )
            for at, (kind, source, number, text) in enumerate(pieces)
        ),
        lore=tuple(
            EntryNote(entry_id=number, name="", active=False, reason=reason)
            for number, reason in (lore or {}).items()
        ),
        limits=Limits(context=context, response=500),
    )  # fmt: skip


def part(number: int, text: str = "", *, of: int | None = None) -> Piece:
    return KINDS.STORY, f"part {number}", of or 100 + number, text or f"Text of {number}."


def system(text: str = "Be a novelist.") -> Piece:
    return KINDS.SYSTEM, "master template", None, text


def bell(text: str = "The bell is quiet.") -> Piece:
    return KINDS.LORE, "Quiet Bell", 7, text


def note() -> Piece:
    return KINDS.INSERT, "author's note", None, "Short sentences."


def request(text: str = "Go on.") -> Piece:
    return KINDS.REQUEST, "request", None, text


def lines(found: Diff) -> list[str]:
    return found.text.splitlines()


def test_a_prompt_is_not_different_from_itself() -> None:
    one = sent(system(), bell(), part(1), request())
    assert diff(one, one).changes == ()
    assert diff(one, one).same == 4
    assert diff(one, one).text == "Nothing is different."


def test_an_entry_that_comes_in_says_what_called_it() -> None:
    found = diff(sent(system(), part(1), request()), sent(system(), bell(), part(1), request()))
    assert lines(found) == ["+ *Quiet Bell*: reason of Quiet Bell"]


def test_an_entry_that_goes_says_why_it_is_out() -> None:
    without = sent(system(), request(), lore={7: "*bell* is not in the request."})
    assert lines(diff(sent(system(), bell(), request()), without)) == [
        "\N{MINUS SIGN} *Quiet Bell*: *bell* is not in the request"
    ]
    nobody = sent(system(), request())
    assert lines(diff(sent(system(), bell(), request()), nobody)) == [
        "\N{MINUS SIGN} *Quiet Bell*: nothing calls it any more"
    ]


def test_a_story_that_grew_loses_its_oldest_part_to_the_budget() -> None:
    found = diff(sent(part(11), part(12), part(13), request()), sent(part(12), part(13), part(14), request()))
    assert lines(found) == [
        "\N{MINUS SIGN} part 11: budget: it is older than what still fits",
        "+ part 14: it was written since",
    ]


def test_parts_of_another_branch_are_told_from_new_ones() -> None:
    found = diff(sent(part(1), part(2), part(3)), sent(part(1), part(2, "Other.", of=202)))
    assert lines(found) == [
        "~ part 2: another version of this part",
        "\N{MINUS SIGN} part 3: it is not on this branch",
    ]


def test_room_that_grew_lets_old_parts_in() -> None:
    found = diff(sent(part(3), context=4000), sent(part(2), part(3), context=8000))
    assert lines(found) == [
        "The context is 8,000 tokens instead of 4,000.",
        "+ part 2: there is room for it now",
    ]


def test_a_note_that_moved_on_with_the_story_is_no_other_text() -> None:
    older = sent(part(1), note(), part(2), request())
    newer = sent(part(1), part(2), note(), part(3), request())
    assert [(each.kind, each.source) for each in diff(older, newer).changes] == [
        (ChangeKind.MOVED, "author's note"),
        (ChangeKind.ADDED, "part 3"),
    ]


def test_an_entry_that_stands_before_the_request_now_moved() -> None:
    older = sent(system(), bell(), part(1), request())
    newer = sent(system(), part(1), (KINDS.USER_LORE, *bell()[1:]), request())
    assert lines(diff(older, newer)) == ["↕ *Quiet Bell*: it stands before the request now, behind the story"]


def test_what_the_template_says_around_lore_is_one_piece() -> None:
    older = sent(system("You write. True is: "), request())
    newer = sent(system("You write. "), bell(), system("True is: "), request())
    assert [each.segment for each in diff(older, newer).changes] == [KINDS.LORE]


def test_a_changed_text_shows_its_words() -> None:
    change = diff(sent(request("She rings the bell.")), sent(request("She hears the bell."))).changes[0]
    assert [(each.fate, each.text) for each in change.words] == [
        ("same", "She "), ("removed", "rings "), ("added", "hears "), ("same", "the bell."),
    ]  # fmt: skip
    assert change.cause == "something else is asked for"


def test_words_that_frame_lore_come_and_go_with_it_and_nobody_changed_the_template() -> None:
    bare, framed = (
        sent(system("You write."), request()),
        sent(system("You write. True is:"), bell(), request()),
    )
    assert diff(bare, framed).text.splitlines()[0] == (
        "~ master template: its words around lore came in with the first of it"
    )
    assert "its words around lore went with the last of it" in diff(framed, bare).text
    changed = diff(sent(system("You write."), bell()), sent(system("You draw."), bell()))
    assert changed.text == "~ master template: the master template or what it prints was changed"


def summary() -> Piece:
    return KINDS.SUMMARY, "summary on part 9", 9, "They met."


def test_a_part_that_a_summary_may_stand_for_is_not_said_to_have_lost_to_the_budget() -> None:
    found = diff(sent(part(8), part(9), part(10)), sent(summary(), part(10)))
    assert "\N{MINUS SIGN} part 8: a summary stands for it, or it is older than what still fits" in lines(
        found
    )


def test_parts_that_only_this_branch_has_were_not_written_since() -> None:
    other = sent(part(1), part(2, of=202))
    found = diff(other, sent(part(1), part(2), part(3), part(4)))
    assert [line for line in lines(found) if line.startswith("+")] == [
        "+ part 3: it is on this branch, and there is room for it",
        "+ part 4: it is on this branch, and there is room for it",
    ]


def test_placeholders_are_not_told_apart() -> None:
    placeholder: Piece = (KINDS.PLACEHOLDER, "placeholder", None, "[ Generate story. ]")
    assert diff(sent(placeholder, part(1)), sent(part(1))).changes == ()


pieces = st.lists(
    st.one_of(
        st.integers(1, 9).map(part),
        st.sampled_from([system(), bell(), bell("It rings."), note(), request(), request("Stop.")]),
    ),
    max_size=12,
    unique_by=lambda piece: (piece[0], piece[1], piece[2]),
)


@given(pieces, pieces)
def test_counts_add_up_whatever_is_compared(before: list[Piece], after: list[Piece]) -> None:
    found = diff(sent(*before), sent(*after))
    added = sum(each.kind is ChangeKind.ADDED for each in found.changes)
    removed = sum(each.kind is ChangeKind.REMOVED for each in found.changes)
    assert len(before) - removed == len(after) - added
    kept = sum(each.kind in {ChangeKind.CHANGED, ChangeKind.MOVED} for each in found.changes)
    assert found.same + kept + added == len(after)
    gained = sum(each.after - each.before for each in found.changes)
    assert found.after - found.before == gained
    assert found._repr_html_().count("<details>") == len(found.changes)


def test_hostile_names_and_texts_are_escaped_in_a_notebook() -> None:
    evil = "<script>alert(1)</script>"
    found = diff(sent(request()), sent((KINDS.LORE, evil, 1, evil), request(evil)))
    assert "<script" not in found._repr_html_()
    assert "<script" not in sent((KINDS.LORE, evil, 1, evil))._repr_html_()
    entry = Entry(id=EntryId(1), name=evil)
    assert "<script" not in lore_html([Verdict(entry=entry, lorebook=evil, active=True, reason=evil)])
