"""The README's pictures are those that the script takes, and the script still finds its way through the app."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PIL import Image

from benchmarks.serving import CHROMIUM
from docs import pictures

WITH_A_WAY = ("lore", "prompt")  # those for which something has to be found in the page
README = Path(__file__).parents[2] / "README.md"


def test_the_readme_shows_every_picture_and_no_other() -> None:
    shown = re.findall(r"!\[[^\]]+\]\(docs/pictures/([\w-]+)\.png\)", README.read_text("utf-8"))
    assert sorted(shown) == sorted(pictures.PICTURES)
    assert sorted(file.stem for file in pictures.HERE.glob("*.png")) == sorted(pictures.PICTURES)


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_a_picture_is_small_and_has_the_size_of_its_window(name: str) -> None:
    file, wanted = pictures.HERE / f"{name}.png", pictures.PICTURES[name]
    assert file.stat().st_size <= pictures.MOST_BYTES
    with Image.open(file) as image:
        assert image.size == (wanted.width, wanted.height)


@pytest.mark.browser
@pytest.mark.skipif(
    not Path(CHROMIUM).exists(), reason="Chromium is not installed here; set CHROMIUM to where it is."
)
def test_the_script_takes_its_pictures_from_the_running_app(tmp_path: Path) -> None:
    pictures.main(tmp_path, WITH_A_WAY)
    assert {file.stem for file in tmp_path.iterdir()} == set(WITH_A_WAY)
    assert all(file.stat().st_size <= pictures.MOST_BYTES for file in tmp_path.iterdir())
