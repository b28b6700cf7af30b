"""The command line, as somebody at a terminal uses it."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from argparse import Namespace
from io import StringIO
from pathlib import Path

import pytest

import marginalia as mg
from marginalia.cli import main, serve
from marginalia.cli.arguments import parser
from marginalia.cli.people import People
from marginalia.cli.serve import cookie_secret, door, origins, refuse_open_door, set_house_rules
from marginalia.cli.talk import Talk, sized
from marginalia.errors import InvalidInput, StoreFull

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def home(home_of_its_own: Path) -> Path:
    with mg.Studio(extensions=()) as studio:
        book = studio.books.create(name="Salt Road")
        studio.story.append(book, "# Ford\n\nShe waits.")
    return home_of_its_own


def test_a_book_is_exported_by_name_in_the_format_of_the_files_name(
    home: Path, tmp_path: Path, capsys: Capture
) -> None:
    target = tmp_path / "out.html"
    assert main(["export", "salt road", "-o", str(target), "--author", "A. Writer"]) == 0
    assert "A. Writer" in target.read_text("utf-8")
    said = capsys.readouterr()
    assert said.out == f"{target}\n"
    assert "Writing 'Salt Road' as Web page" in said.err


def test_a_file_that_is_there_is_replaced_only_by_force(home: Path, tmp_path: Path, capsys: Capture) -> None:
    target = tmp_path / "out.txt"
    target.write_text("mine")
    assert main(["export", "Salt Road", "-o", str(target)]) == 1
    assert target.read_text() == "mine"
    assert "--force" in capsys.readouterr().err
    assert main(["export", "Salt Road", "-o", str(target), "--force"]) == 0
    assert "She waits." in target.read_text("utf-8")


def test_an_unknown_book_is_an_error_that_names_the_known_ones(home: Path, capsys: Capture) -> None:
    assert main(["export", "Nowhere"]) == 1
    assert "'Salt Road'" in capsys.readouterr().err


def test_two_books_of_one_name_are_told_apart_by_number(home: Path, tmp_path: Path, capsys: Capture) -> None:
    with mg.Studio(extensions=()) as studio:
        number = studio.books.create(name="salt road").id
    target = str(tmp_path / "x.txt")
    assert main(["export", "Salt Road", "-o", target]) == 1
    assert str(number) in capsys.readouterr().err
    assert main(["export", str(number), "-o", target]) == 0


def test_a_lorebook_is_exported_and_comes_back(home: Path, tmp_path: Path, capsys: Capture) -> None:
    with mg.Studio(extensions=()) as studio:
        world = studio.lorebooks.create(name="World")
        studio.lorebooks.add_entry(world, name="Varro", payload="He limps.", filter=mg.TextFilter("varro"))
    target = tmp_path / "world.json"
    assert main(["export", "--lore", "world", "-o", str(target)]) == 0
    assert main(["--home", str(tmp_path / "other"), "import", str(target)]) == 0
    with mg.Studio(extensions=()) as studio:
        back = next(each for each in studio.lorebooks.all() if each.name == "World")
        assert [entry.payload for entry in studio.lorebooks.entries(back)] == ["He limps."]


def test_a_command_that_is_not_understood_is_exit_code_2(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["exprot"])
    assert ended.value.code == 2
    assert "usage" in capsys.readouterr().err


def test_a_book_goes_through_its_backup_into_an_empty_home(
    home: Path, tmp_path: Path, capsys: Capture
) -> None:
    file = tmp_path / "b.marginalia"
    assert main(["backup", "book", "Salt Road", "-o", str(file)]) == 0
    assert main(["backup", "show", str(file)]) == 0
    assert "1 parts (3 words)" in capsys.readouterr().out
    assert main(["--home", str(tmp_path / "other"), "import", str(file)]) == 0
    assert "the book 'Salt Road'" in capsys.readouterr().out
    with mg.Studio(extensions=()) as studio:
        assert str(studio.path).startswith(str(tmp_path / "other"))
        book = next(each for each in studio.books.all() if each.name == "Salt Road")
        assert [part.text for part in studio.story.branch(book)] == ["# Ford\n\nShe waits."]


def test_a_backup_is_restored_into_a_book_or_as_a_new_one(
    home: Path, tmp_path: Path, capsys: Capture
) -> None:
    file = str(tmp_path / "b.marginalia")
    main(["backup", "book", "Salt Road", "-o", file])
    with mg.Studio(extensions=()) as studio:
        book = studio.books.get(studio.books.all()[-1])
        studio.story.append(book, "Later.")
    assert main(["backup", "restore", file, "--into", "Salt Road"]) == 0
    assert main(["backup", "restore", file, "--name", "Second"]) == 0
    with mg.Studio(extensions=()) as studio:
        counts = {each.name: len(studio.story.parts(each)) for each in studio.books.all()}
    assert counts["Salt Road"] == counts["Second"] == 1


def test_the_database_is_copied_listed_verified_and_put_back(home: Path, capsys: Capture) -> None:
    assert main(["backup", "database", "--keep", "1"]) == 0
    copy = Path(capsys.readouterr().out.strip())
    assert main(["backup", "list"]) == 0
    assert str(copy) in capsys.readouterr().out
    assert main(["backup", "verify"]) == 0
    assert "whole" in capsys.readouterr().out
    with mg.Studio(extensions=()) as studio:
        studio.books.create(name="Later")
    assert main(["backup", "put-back", str(copy)]) == 0
    with mg.Studio(extensions=()) as studio:
        assert "Later" not in {book.name for book in studio.books.all()}


@pytest.mark.parametrize("options", [["--story-only"], ["--into", "Salt Road", "--name", "Second"]])
def test_options_that_would_do_nothing_are_refused(
    home: Path, tmp_path: Path, capsys: Capture, options: list[str]
) -> None:
    file = str(tmp_path / "b.marginalia")
    main(["backup", "book", "Salt Road", "-o", file])
    assert main(["backup", "restore", file, *options]) == 1
    assert "--into" in capsys.readouterr().err
    with mg.Studio(extensions=()) as studio:
        assert [book.name for book in studio.books.all()].count("Salt Road") == 1


def test_a_file_that_cannot_be_written_is_said_with_what_to_do(
    home: Path, tmp_path: Path, capsys: Capture
) -> None:
    assert main(["export", "Salt Road", "-o", str(tmp_path / "nowhere" / "x.txt")]) == 1
    assert f"there is no folder {tmp_path / 'nowhere'}" in capsys.readouterr().err


def test_the_longest_name_of_a_file_is_no_trouble(home: Path, tmp_path: Path) -> None:
    target = tmp_path / f"{'x' * 250}.txt"
    assert main(["export", "Salt Road", "-o", str(target)]) == 0
    assert "She waits." in target.read_text("utf-8")


def test_a_damaged_copy_is_told(home: Path, tmp_path: Path, capsys: Capture) -> None:
    bad = tmp_path / "bad.db"
    bad.write_bytes(b"nothing")
    assert main(["backup", "verify", str(bad)]) == 1
    assert main(["backup", "put-back", str(bad)]) == 1
    assert "Traceback" not in capsys.readouterr().err


def test_files_are_imported_one_by_one_and_a_bad_one_holds_up_none(
    home: Path, tmp_path: Path, capsys: Capture
) -> None:
    bad, good = tmp_path / "bad.json", tmp_path / "world.json"
    bad.write_text("no json")
    entries = {"0": {"uid": 0, "key": ["ford"], "content": "Deep.", "comment": "The ford"}}
    good.write_text(json.dumps({"entries": entries}))
    assert main(["import", str(bad), str(good), str(tmp_path / "missing")]) == 1
    said = capsys.readouterr()
    assert "world" in said.out
    assert "2 of 3 files were not imported" in said.err
    with mg.Studio(extensions=()) as studio:
        lorebook = next(each for each in studio.lorebooks.all() if each.name == "world")
        assert [entry.payload for entry in studio.lorebooks.entries(lorebook)] == ["Deep."]


def test_the_doctor_looks_at_an_empty_home_without_making_anything(
    home_of_its_own: Path, capsys: Capture
) -> None:
    assert main(["doctor"]) == 0
    assert "will be made" in capsys.readouterr().out
    assert not home_of_its_own.exists()


def test_the_doctor_reads_the_database_and_names_a_missing_key(home: Path, capsys: Capture) -> None:
    with mg.Studio(extensions=()) as studio:
        studio.providers.create(name="Far", base_url="https://models.example/v1", key_ref="env:NO_SUCH_KEY")
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert "every row read" in said
    assert "key is missing" in said


def test_the_doctor_names_a_model_that_the_server_does_not_ask_and_an_open_secret(
    home: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mg.Studio(extensions=()) as studio:
        studio.providers.create(name="Far", base_url="https://models.example/v1")
    monkeypatch.setenv("MARGINALIA_PROVIDER_HOSTS", "other.example")
    secret = home / "cookie-secret"
    secret.write_text("x")
    secret.chmod(0o644)
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "does not ask “models.example”" in said
    assert f"chmod 600 {secret}" in said


def test_the_doctor_says_that_the_database_is_in_use(home: Path, capsys: Capture) -> None:
    with mg.Studio(extensions=()):
        assert main(["doctor"]) == 0
    assert "in use" in capsys.readouterr().out


def test_the_doctor_finds_a_broken_database_and_says_what_to_do(home: Path, capsys: Capture) -> None:
    (home / "marginalia.db").write_bytes(b"\0" * 20_000)
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "BAD" in said
    assert "put-back" in said


def test_a_home_that_is_no_folder_is_said(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MARGINALIA_HOME", str(tmp_path / "file"))
    (tmp_path / "file").write_text("x")
    assert main(["doctor"]) == 1
    assert "is no folder" in capsys.readouterr().out


def test_a_journal_is_mended_by_a_command_that_says_what_was_saved(home: Path, capsys: Capture) -> None:
    assert main(["backup", "mend"]) == 1
    assert "no journal" in capsys.readouterr().err


def test_it_runs_as_a_module(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "marginalia", "--help"], check=True, capture_output=True, text=True
    )
    assert "doctor" in done.stdout


def options(*words: str) -> Namespace:
    return parser().parse_args(["serve", *words])


def test_beyond_this_machine_a_login_is_asked_for() -> None:
    for address in ("127.0.0.1", "localhost", "::1"):
        refuse_open_door(options("--address", address))
    for address in ("0.0.0.0", "192.168.1.4", "books.example"):  # noqa: S104 - refused
        with pytest.raises(InvalidInput, match="--auth"):
            refuse_open_door(options("--address", address))
        for door_ in (["--without-login"], ["--auth"], ["--oauth", "github", "--only", "mara"]):
            refuse_open_door(options("--address", address, *door_))


def test_whoever_has_an_account_somewhere_is_not_yet_let_in() -> None:
    with pytest.raises(InvalidInput, match="everybody who has an account at github"):
        refuse_open_door(options("--oauth", "github"))


def test_browsers_connect_from_named_hosts_only() -> None:
    named = origins(options("--allow-host", "books.example"))
    assert named == ["localhost:5006", "127.0.0.1:5006", "books.example"]
    with pytest.raises(InvalidInput, match=r"\*"):
        origins(options("--allow-host", "*"))


def test_a_login_page_asks_no_other_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARGINALIA_HOME", str(tmp_path))
    monkeypatch.setattr("marginalia.cli.serve.guard", lambda: None)
    file = tmp_path / "people.json"
    file.write_text('{"mara": "a password"}')
    file.chmod(0o644)
    said = StringIO()
    settings = door(options("--auth"), Talk(StringIO(), said))
    assert settings["sign_sessions"]
    for name in ("login.html", "logout.html"):
        page = (Path(serve.__file__).parent / "pages" / name).read_text("utf-8")
        assert "://" not in page
        assert "PANEL_CDN" not in page
    assert "chmod 600" in said.getvalue()
    assert "the passwords of mara as they are" in said.getvalue()


def test_behind_a_login_each_person_has_limits_and_the_options_change_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("MARGINALIA_RUNS_PER_USER", "MARGINALIA_SUMMARIES_PER_USER", "MARGINALIA_PROVIDER_HOSTS")
    for name in names:
        monkeypatch.setenv(name, "")  # so that it is put back afterwards
        monkeypatch.delenv(name)
    set_house_rules(options())
    assert not any(name in os.environ for name in names)
    set_house_rules(options("--auth", "--provider-host", "models.example:8443", "--provider-host", "*.local"))
    assert [os.environ[name] for name in names] == ["4", "2", "models.example:8443,*.local"]
    set_house_rules(options("--auth", "--runs-per-user", "9", "--summaries-per-user", "0"))
    assert [os.environ[name] for name in names[:2]] == ["9", "0"]
    with pytest.raises(InvalidInput, match="is no host"):
        set_house_rules(options("--provider-host", "http://x/"))


def test_the_cookie_secret_is_made_once_and_only_for_its_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PANEL_COOKIE_SECRET", raising=False)
    made = cookie_secret(tmp_path / "home")
    assert len(made) == 64
    assert cookie_secret(tmp_path / "home") == made
    assert (tmp_path / "home" / "cookie-secret").stat().st_mode & 0o077 == 0
    monkeypatch.setenv("PANEL_COOKIE_SECRET", "given")
    assert cookie_secret(tmp_path / "home") == "given"


@pytest.mark.parametrize("left", ["", "\n", "0123456789abcdef"])
def test_a_cookie_secret_that_was_cut_signs_nobody_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: str
) -> None:
    monkeypatch.delenv("PANEL_COOKIE_SECRET", raising=False)
    (tmp_path / "cookie-secret").write_text(left)
    with pytest.raises(InvalidInput, match="Delete it"):
        cookie_secret(tmp_path)


def test_a_secret_that_cannot_be_written_whole_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_path: Path, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.delenv("PANEL_COOKIE_SECRET", raising=False)
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(StoreFull, match="Free some space"):
        cookie_secret(tmp_path)
    with pytest.raises(StoreFull, match="Free some space"):
        People(tmp_path / "people.json").add("mara", "the lamp went out")
    assert list(tmp_path.iterdir()) == []


class Narrow(StringIO):
    encoding = "ascii"


def test_a_terminal_that_lacks_a_character_gets_a_question_mark() -> None:
    out = Narrow()
    Talk(out, out).say("Größe")
    assert out.getvalue() == "Gr??e\n"


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_how_far_it_is_and_a_file_does_not() -> None:
    for out, said in (
        (Terminal(), ["Writing …", "Writing … 10 %", "Writing … 90 %"]),
        (StringIO(), ["Writing …\n"]),
    ):
        progress = Talk(StringIO(), out).sharing("Writing")
        for share in (0.1, 0.101, 0.9):
            progress(share)
        assert [each for each in out.getvalue().split("\r\x1b[2K") if each] == said


def test_sizes_are_for_people() -> None:
    assert [sized(size) for size in (1500, 2_500_000, 3_000_000_000)] == ["2 kB", "2.5 MB", "3.0 GB"]
