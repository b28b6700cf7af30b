"""Who may sign in, and the command that says so."""

from __future__ import annotations

import json
import sys
from io import StringIO
from pathlib import Path

import pytest

from marginalia.cli import main
from marginalia.cli.people import People, hashed
from marginalia.errors import InvalidInput

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def people(tmp_path: Path) -> People:
    return People(tmp_path / "new" / "people.json")


def test_a_password_is_checked_and_stands_nowhere(people: People) -> None:
    people.add("mara", "the lamp went out")
    assert people.check("mara", "the lamp went out")
    assert not people.check("mara", "the lamp went out ")
    assert not people.check("elias", "the lamp went out")
    assert "lamp" not in people.file.read_text("utf-8")
    assert people.file.stat().st_mode & 0o077 == 0
    assert people.in_clear() == ()
    assert hashed("the same") != hashed("the same")


def test_a_change_of_the_file_holds_at_once(people: People) -> None:
    people.add("mara", "the lamp went out")
    other = People(people.file)
    other.add("elias", "salt on the clasp")
    assert people.names() == ("mara", "elias")
    assert people.check("elias", "salt on the clasp")
    other.remove("mara")
    assert not people.knows("mara")
    assert not people.check("mara", "the lamp went out")


def test_passwords_that_stand_in_the_file_as_they_are_still_open(people: People) -> None:
    people.file.parent.mkdir()
    people.file.write_text(json.dumps({"mara": "the lamp", "elias": hashed("salt")}))
    assert people.check("mara", "the lamp")
    assert not people.check("mara", "the lamps")
    assert people.check("elias", "salt")
    assert people.in_clear() == ("mara",)


@pytest.mark.parametrize(
    "kept", ["scrypt:", "scrypt:15:8:1:zz:00", "scrypt:15:8:1:00:00", "scrypt:99:8:1:00:00"]
)
def test_a_hash_that_was_cut_or_edited_lets_nobody_in(people: People, kept: str) -> None:
    people.file.parent.mkdir()
    people.file.write_text(json.dumps({"mara": kept}))
    assert not people.check("mara", "")
    assert not people.check("mara", kept)


@pytest.mark.parametrize("content", ["", "[]", '{"mara": 1}', '{"mara": ""}', '"x"'])
def test_a_file_that_is_no_list_of_people_is_refused(people: People, content: str) -> None:
    people.file.parent.mkdir()
    people.file.write_text(content)
    with pytest.raises(InvalidInput, match=r"people\.json"):
        people.names()


@pytest.mark.parametrize(
    ("name", "password"), [("", "long enough"), (" mara", "long enough"), ("mara", "short")]
)
def test_a_blank_name_or_a_short_password_changes_nothing(people: People, name: str, password: str) -> None:
    with pytest.raises(InvalidInput, match="needs at least"):
        people.add(name, password)
    assert not people.file.exists()


def test_the_command_adds_lists_and_removes(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MARGINALIA_HOME", str(tmp_path))
    for word in ("added", "the password was changed"):
        monkeypatch.setattr(sys, "stdin", StringIO("the lamp went out\n"))
        assert main(["user", "add", "mara"]) == 0
        assert word in capsys.readouterr().out
    assert People(tmp_path / "people.json").check("mara", "the lamp went out")
    assert main(["user", "list"]) == 0
    assert capsys.readouterr().out == "mara\n"
    assert main(["user", "remove", "elias"]) == 1
    assert "Nobody called “elias”" in capsys.readouterr().err
    assert main(["user", "remove", "mara"]) == 0
    assert main(["user", "list"]) == 0
