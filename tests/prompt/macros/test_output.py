from __future__ import annotations

from textwrap import dedent

from hypothesis import given
from hypothesis import strategies as st

from marginalia.prompt.context import Span
from marginalia.prompt.macros.output import Output

TEXTS = st.lists(
    st.tuples(st.text(alphabet="ab \n\t\r", max_size=8), st.booleans(), st.booleans()), max_size=8
)


def output_of(parts: list[tuple[str, bool, bool]]) -> Output:
    output = Output()
    for number, (text, named, trim) in enumerate(parts):
        output.write(text, str(number) if named else None)
        if trim:
            output.write_trim()
    return output


def test_a_tidied_text_loses_the_indentation_of_its_first_line() -> None:
    output = Output()
    output.write("\n    one\n      two\n  three\n")
    assert output.tidied().text == "one\n  two\nthree"


@given(st.lists(st.text(alphabet="ab", min_size=1), min_size=1), st.integers(0, 4))
def test_tidying_evenly_indented_lines_is_a_dedent(lines: list[str], width: int) -> None:
    text = "\n".join(" " * width + line for line in lines)
    output = Output()
    output.write(text)
    assert output.tidied().text == dedent(text)


@given(TEXTS)
def test_a_span_holds_what_is_left_of_its_value(parts: list[tuple[str, bool, bool]]) -> None:
    for result in (
        output_of(parts).tidied(),
        output_of(parts).trimmed(),
        output_of(parts).tidied().trimmed(),
    ):
        for span in result.spans:
            value = parts[int(span.name)][0]
            kept = result.text[span.start : span.end]
            assert kept
            assert is_subsequence(kept, value)


def is_subsequence(kept: str, value: str) -> bool:
    letters = iter(value)
    return all(letter in letters for letter in kept)


@given(TEXTS)
def test_trimming_takes_line_breaks_alone(parts: list[tuple[str, bool, bool]]) -> None:
    before, after = output_of(parts).text, output_of(parts).trimmed().text
    assert [each for each in before if each not in "\r\n"] == [each for each in after if each not in "\r\n"]


@given(TEXTS)
def test_a_marked_place_has_no_line_break_beside_it(parts: list[tuple[str, bool, bool]]) -> None:
    output = output_of([*parts, ("", False, True), ("\n\r\n", False, False), ("end", True, False)])
    trimmed = output.trimmed()
    end = trimmed.spans[-1]
    assert end == Span(len(trimmed.text) - 3, len(trimmed.text), str(len(parts) + 2))
    assert not trimmed.text[: end.start].endswith("\n")
