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
    (file,) = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


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
