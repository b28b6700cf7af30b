from __future__ import annotations

import stat
import sys
from pathlib import Path
from types import ModuleType

import pytest

from marginalia.errors import InvalidInput
from marginalia.inference import KeyStore


def test_a_key_is_kept_for_the_next_start_in_a_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    KeyStore(tmp_path).set("mine", " sk-secret\n")
    assert KeyStore(tmp_path).get("mine") == "sk-secret"
    assert [stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()] == [0o600, 0o600]
    assert not any(b"sk-secret" in file.read_bytes() for file in tmp_path.iterdir())


def test_a_forgotten_key_is_gone_and_the_others_stay(tmp_path: Path) -> None:
    keys = KeyStore(tmp_path)
    keys.set("a", "1")
    keys.set("b", "2")
    keys.forget("a")
    keys.forget("never there")
    assert (keys.get("a"), keys.get("b")) == (None, "2")


def test_a_key_can_come_from_the_environment_and_is_never_written_there(tmp_path: Path) -> None:
    keys = KeyStore(tmp_path, environment={"MY_KEY": " sk-env\n", "EMPTY": ""})
    assert (keys.get("env:MY_KEY"), keys.get("env:EMPTY"), keys.get("env:OTHER")) == ("sk-env", None, None)
    with pytest.raises(InvalidInput, match="environment variable"):
        keys.set("env:MY_KEY", "x")


def test_no_reference_is_no_key(tmp_path: Path) -> None:
    assert KeyStore(tmp_path).get("") is None
    with pytest.raises(InvalidInput):
        KeyStore(tmp_path).set("", "x")


def test_without_a_folder_nothing_can_be_kept() -> None:
    assert KeyStore().get("mine") is None
    with pytest.raises(InvalidInput, match="env:NAME"):
        KeyStore().set("mine", "x")


@pytest.mark.parametrize("key", ["two words", "“quoted”", ""])
def test_what_can_be_no_key_is_refused(tmp_path: Path, key: str) -> None:
    with pytest.raises(InvalidInput):
        KeyStore(tmp_path).set("mine", key)


@pytest.mark.parametrize("content", ["{", "[]", '{"mine": 5}'])
def test_a_damaged_key_file_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "keys.json").write_text(content)
    with pytest.raises(InvalidInput, match=r"keys\.json"):
        KeyStore(tmp_path).get("mine")


def test_its_text_form_shows_no_key(tmp_path: Path) -> None:
    keys = KeyStore(tmp_path, environment={"K": "sk-secret"})
    keys.set("mine", "sk-secret")
    assert "secret" not in f"{keys!r} {keys!s}"


def test_the_systems_keyring_is_used_when_it_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept: dict[tuple[str, str], str] = {}
    ring = ModuleType("keyring")
    ring.get_password = lambda service, name: kept.get((service, name))  # type: ignore[attr-defined]
    ring.set_password = lambda service, name, key: kept.__setitem__((service, name), key)  # type: ignore[attr-defined]
    ring.delete_password = lambda service, name: kept.pop((service, name))  # type: ignore[attr-defined]
    ring.__spec__ = sys.__spec__
    monkeypatch.setitem(sys.modules, "keyring", ring)
    keys = KeyStore(tmp_path)
    keys.set("keyring:mine", "sk")
    assert keys.get("keyring:mine") == "sk"
    keys.forget("keyring:mine")
    assert (keys.get("keyring:mine"), list(tmp_path.iterdir())) == (None, [])


SEALED = {"MARGINALIA_KEYS_PASSPHRASE": "correct horse"}


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_keys_that_an_earlier_version_kept_as_plain_text_are_sealed_when_they_are_read(
    tmp_path: Path,
) -> None:
    (tmp_path / "keys.json").write_text('{"mine": "sk-old"}')
    assert KeyStore(tmp_path).get("mine") == "sk-old"
    assert names(tmp_path) == ["keys.sealed", "keys.secret"]
    assert KeyStore(tmp_path).get("mine") == "sk-old"


def test_keys_of_an_earlier_version_that_ran_once_more_are_added_to_the_sealed_ones(tmp_path: Path) -> None:
    KeyStore(tmp_path).set("mine", "sk-mine")
    (tmp_path / "keys.json").write_text('{"other": "sk-other"}')
    keys = KeyStore(tmp_path)
    assert (keys.get("mine"), keys.get("other")) == ("sk-mine", "sk-other")
    assert names(tmp_path) == ["keys.sealed", "keys.secret"]


def test_plain_keys_in_a_folder_that_cannot_be_written_to_are_read_and_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "keys.json").write_text('{"mine": "sk-old"}')

    def full(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr("marginalia.inference.sealing._replace", full)
    assert KeyStore(tmp_path).get("mine") == "sk-old"
    assert names(tmp_path) == ["keys.json"]


def test_with_a_passphrase_the_folder_alone_opens_nothing_and_a_wrong_one_loses_nothing(
    tmp_path: Path,
) -> None:
    KeyStore(tmp_path, environment=SEALED).set("mine", "sk-secret")
    assert names(tmp_path) == ["keys.sealed"]
    before = (tmp_path / "keys.sealed").read_bytes()
    for environment, told in (
        ({}, "Start Marginalia with"),
        ({next(iter(SEALED)): "wrong"}, "does not open"),
    ):
        other = KeyStore(tmp_path, environment=environment)
        for act in (lambda other=other: other.get("mine"), lambda other=other: other.set("new", "sk-new")):
            with pytest.raises(InvalidInput, match=told) as caught:
                act()
            assert "Nothing is lost" in str(caught.value)
    assert (tmp_path / "keys.sealed").read_bytes() == before
    assert KeyStore(tmp_path, environment=SEALED).get("mine") == "sk-secret"


def test_a_passphrase_that_is_set_later_takes_over_and_the_key_beside_the_file_goes(tmp_path: Path) -> None:
    KeyStore(tmp_path).set("mine", "sk-secret")
    assert KeyStore(tmp_path, environment=SEALED).get("mine") == "sk-secret"
    assert names(tmp_path) == ["keys.sealed"]
    with pytest.raises(InvalidInput, match="passphrase"):
        KeyStore(tmp_path).get("mine")


def test_without_the_key_beside_it_the_sealed_file_stays_closed_and_stays_there(tmp_path: Path) -> None:
    KeyStore(tmp_path).set("mine", "sk-secret")
    secret = (tmp_path / "keys.secret").read_bytes()
    (tmp_path / "keys.secret").unlink()
    for act in (lambda: KeyStore(tmp_path).get("mine"), lambda: KeyStore(tmp_path).set("new", "sk-new")):
        with pytest.raises(InvalidInput, match=r"keys\.secret does not open"):
            act()
    assert names(tmp_path) == ["keys.sealed"]
    (tmp_path / "keys.secret").write_bytes(secret)
    assert KeyStore(tmp_path).get("mine") == "sk-secret"


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"by": "file"}'])
def test_a_damaged_sealed_file_is_named_and_not_overwritten(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "keys.sealed").write_bytes(content)
    with pytest.raises(InvalidInput, match=r"keys\.sealed"):
        KeyStore(tmp_path).set("mine", "sk")
    assert (tmp_path / "keys.sealed").read_bytes() == content
