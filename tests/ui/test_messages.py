"""The pieces of a message are its text, whole and in order, whatever the segments say."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from marginalia.prompt.segments import Segment, SegmentKind
from marginalia.ui.messages import message_rows
from marginalia.values import Message

SPANS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)).map(sorted), max_size=6)


@given(st.text(min_size=30, max_size=30), SPANS)
def test_no_character_is_lost_or_shown_twice(text: str, spans: list[list[int]]) -> None:
    segments = [
        Segment(kind=SegmentKind.LORE, message=0, start=start, end=end, tokens=1, source="x")
        for start, end in spans
    ]
    row = message_rows([Message(role="system", content=text)], segments)[0]
    assert "".join(piece["text"] for piece in row["pieces"]) == text
    assert row["tokens"] == len(segments)
