"""Markdown as blocks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginalia.export.blocks import (
    Code,
    Heading,
    Listing,
    Paragraph,
    Quote,
    Rule,
    Run,
    chapters,
    outline,
    words,
)
from marginalia.export.reading import read, read_text
from tests.export.helpers import manuscript


def test_styles_are_runs() -> None:
    (block,) = read_text("a *b* **c** ***d*** `e` ~~f~~")
    assert block == Paragraph(
        runs=(
            Run(text="a "),
            Run(text="b", italic=True),
            Run(text=" "),
            Run(text="c", bold=True),
            Run(text=" "),
            Run(text="d", bold=True, italic=True),
            Run(text=" "),
            Run(text="e", code=True),
            Run(text=" "),
            Run(text="f", strike=True),
        )
    )


def test_a_line_that_ends_is_a_line_that_ends() -> None:
    (block,) = read_text("one\ntwo")
    assert isinstance(block, Paragraph)
    assert [run.text for run in block.runs] == ["one", "\n", "two"]


def test_html_is_text() -> None:
    blocks = read_text("<b>x</b> &amp; <script>y</script>\n\n<div>\n\nz")
    assert [words(each.runs) for each in blocks if isinstance(each, Paragraph)] == [
        "<b>x</b> & <script>y</script>",
        "<div>",
        "z",
    ]


def test_lists_and_quotes_nest() -> None:
    (quote,) = read_text("> - a\n>   1. b")
    inner = Listing(items=((Paragraph(runs=(Run(text="b"),)),),), start=1)
    assert quote == Quote(blocks=(Listing(items=((Paragraph(runs=(Run(text="a"),)), inner),)),))


def test_code_and_rules() -> None:
    assert read_text("```py\nx = 1\n```\n\n---") == (Code(text="x = 1"), Rule())


def test_only_web_and_mail_links_lead_anywhere() -> None:
    text = "[a](http://a.example) [b](mailto:b@b.example) [c](/etc/passwd) [d](ftp://d.example)"
    (block,) = read_text(text)
    assert isinstance(block, Paragraph)
    assert [run.link for run in block.runs if run.text.strip()] == [
        "http://a.example",
        "mailto:b@b.example",
        "",
        "",
    ] or [run.link for run in block.runs if run.link] == ["http://a.example", "mailto:b@b.example"]


@pytest.mark.parametrize(
    "address",
    [
        "http://",
        "https://:80",
        "http://:1%5B:",
        "http://[::1",
        "mailto:",
        "mailto:%00x",
        "http://a.example:x/",
    ],
)
def test_a_link_to_nowhere_is_its_text(address: str) -> None:
    (block,) = read_text(f"[a](<{address}>)")
    assert isinstance(block, Paragraph)
    assert words(block.runs) == "a" or address in words(block.runs)  # Markdown itself takes some for no link
    assert not any(run.link for run in block.runs)


def test_an_image_is_its_description() -> None:
    (block,) = read_text("![a lamp](http://far.example/x.png)")
    assert block == Paragraph(runs=(Run(text="a lamp"),))


def test_headings_have_anchors_of_their_own() -> None:
    blocks = read(manuscript("# One\n\n# Two", "# One"))
    assert [each.anchor for each in blocks if isinstance(each, Heading)] == [
        "heading-1",
        "heading-2",
        "heading-3",
    ]


def test_scene_breaks_stand_between_parts_only() -> None:
    blocks = read(manuscript("one", "two", breaks=True))
    assert [type(each) for each in blocks] == [Paragraph, Rule, Paragraph]


def test_chapters_begin_at_the_highest_level_there_is() -> None:
    told = chapters(read(manuscript("Before.\n\n## A\n\n### a\n\n## B\n\nx")), longest=1000)
    assert [each.heading and each.heading.title for each in told] == [None, "A", "B"]


def test_a_very_long_chapter_goes_on_in_another_file() -> None:
    told = chapters(read(manuscript("# A\n\n" + "\n\n".join(["x" * 60] * 10))), longest=200)
    assert len(told) > 2
    assert [each.heading is None for each in told][:2] == [False, True]


def test_the_table_of_contents_nests_even_where_levels_skip() -> None:
    lines = outline(chapters(read(manuscript("# A\n\n### deep\n\n## mid\n\n# B")), longest=1000))
    assert [(line.title, [under.title for under in line.under]) for line in lines] == [
        ("A", ["deep", "mid"]),
        ("B", []),
    ]


@given(st.text(alphabet="#*_`~>-[]()!<&\\\n 1.ab", max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    read_text(text)
