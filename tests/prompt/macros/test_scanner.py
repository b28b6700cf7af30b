from __future__ import annotations

import pytest

from marginalia.prompt.macros.scanner import Tag, is_plain, scan


def shown(source: str) -> list[object]:
    return [shape(piece) for piece in scan(source)]


def shape(piece: object) -> object:
    return (
        [shape(inner) for inner in piece.pieces]
        if isinstance(piece, Tag)
        else piece
        if isinstance(piece, str)
        else "<>"
    )


@pytest.mark.parametrize(
    ("source", "pieces"),
    [
        ("a{{b}}c", ["a", ["b"], "c"]),
        ("{{a{{b}}c}}", [["a", ["b"], "c"]]),
        ("a {{ b {{c}}", ["a {{ b ", ["c"]]),
        ("a }} {{b}} }}", ["a }} ", ["b"], " }}"]),
        ("{{{{a}}}}", ["{{", ["a"], "}}"]),
        ("{{{a}}}", [["a"]]),
        ("{{{ a b }}}", ["{", [" a b "], "}"]),
        ("{{a}}}", [["a"], "}"]),
        (r"\{\{a\}\}", ["{{a}}"]),
        (r"\{{a}} {{b}}", [["a"], " ", ["b"]]),
        (r"\\{{a}}", ["\\", ["a"]]),
        (r"a\b \n", [r"a\b \n"]),
        ("a{{!-- {{b}} -- --}}c", ["ac"]),
        ("a{{!-- b", ["a{{!-- b"]),
        ("a{{//}}{{b}}{{///}}c{{//}}d", ["acd"]),
        ("<USER> <user > <Bot>", ["<>", " <user > ", "<>"]),
        ("<u\u017fer>", ["<u\u017fer>"]),
        ("{{" * 3, ["{{{{{{"]),
    ],
)
def test_braces_are_paired(source: str, pieces: list[object]) -> None:
    assert shown(source) == pieces


@pytest.mark.parametrize("source", ["", "a { b } }} c", "5 < 6", "<b>", "\\n", "# {% x %}"])
def test_what_has_no_tag_is_plain(source: str) -> None:
    assert is_plain(source)
    assert "".join(piece for piece in scan(source) if isinstance(piece, str)) == source


def test_braces_without_a_partner_are_reported() -> None:
    lonely: list[int] = []
    scan("}} {{a}} {{ b {{ c", lonely)
    assert sorted(lonely) == [0, 9, 14]
