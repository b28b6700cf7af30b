"""A store in memory, and one in a file."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from marginalia.store import Store
from marginalia.values import Book
from tests.store.helpers import open_store


@pytest.fixture
def store() -> Iterator[Store]:
    opened = open_store(":memory:")
    yield opened
    opened.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "home" / "marginalia.db"


@pytest.fixture
def filed(file: Path) -> Iterator[Store]:
    opened = open_store(file)
    yield opened
    opened.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder, mount = tmp_path / "disk", shutil.which("mount")
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", "size=6m", "tmpfs", str(folder)]
    if mount is None or subprocess.run([mount, *options], capture_output=True, check=False).returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def book(store: Store) -> Book:
    return store.books.create(name="Salt Road")
