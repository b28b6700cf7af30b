"""The form of a provider: presets, what a connection test finds, what was learned, and how tokens were counted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from marginalia import Studio
from marginalia.inference.dialect import Dialect
from marginalia.inference.hosts import Hosts
from marginalia.inference.presets import PRESETS
from marginalia.testing import Json, Recorded, ScriptedServer, Status, Stream
from marginalia.testing.answers import Answer
from marginalia.ui.connecting import try_connection
from marginalia.ui.counted import counted_note
from marginalia.ui.desk import Desk
from marginalia.ui.providing import provider_fields
from marginalia.ui.settings import Sheets
from marginalia.values import Provider


@pytest.fixture
async def studio(tmp_path: Path) -> AsyncIterator[Studio]:
    async with Studio(tmp_path / "m.db", extensions=()) as studio:
        yield studio


def of(fields: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(field for field in fields if field["name"] == name)


def test_every_preset_is_an_address_with_its_peculiarity_and_sets_what_dialects_have() -> None:
    known = set(Dialect().__slots__)
    assert len({preset.name for preset in PRESETS}) == len(PRESETS)
    for preset in PRESETS:
        assert preset.base_url.startswith(("http://127.0.0.1:", "https://")), preset
        assert preset.note.endswith("."), preset
        assert preset.settings.keys() <= known, preset


async def test_presets_are_offered_for_new_providers_alone_and_only_for_hosts_that_may_be_asked(
    studio: Studio,
) -> None:
    fields = provider_fields(studio, Provider())
    preset = of(fields, "preset")
    names = {field["name"] for field in fields}
    assert len(preset["presets"]) == len(PRESETS)
    assert all(each["sets"].keys() <= names for each in preset["presets"].values())
    assert preset["presets"]["transformers serve"]["sets"]["takes_limit"] == "max_tokens"
    studio.models.client.hosts = Hosts.listed("127.0.0.1")
    assert "OpenAI" not in of(provider_fields(studio, Provider()), "preset")["presets"]
    assert "preset" not in {field["name"] for field in provider_fields(studio, Provider(id=1))}  # type: ignore[arg-type]


async def test_a_connection_test_shows_list_token_counting_and_context_and_fills_them_in(
    studio: Studio,
) -> None:
    async with ScriptedServer([Json(text="OK")], models=["only"], context=4096, counts_tokens=True) as server:
        tested = await try_connection(studio, server.provider(model=""), "")
    assert tested.ok
    assert tested.models == ("only",)
    assert tested.found == {"model": "only", "max_context": 4096}
    told = " ".join(tested.facts)
    for fact in (
        "one model: only",
        "wrote one token",
        "4,096 tokens (/props)",
        "exactly: llama.cpp /tokenize",
    ):
        assert fact in told
    answer = tested.answer()
    assert (answer["put"], answer["offer"]) == (dict(tested.found), {"model": ["only"]})


async def test_without_a_models_name_the_list_is_offered_and_no_token_is_asked_for(studio: Studio) -> None:
    async with ScriptedServer(models=["a", "b"]) as server:
        tested = await try_connection(studio, server.provider(model=""), "")
        assert server.completions == []
    assert (tested.ok, tested.models) == (True, ("a", "b"))
    assert "Choose one" in tested.text


async def test_a_test_that_fails_still_offers_the_list_and_what_was_learned_is_said(studio: Studio) -> None:
    wrong = Status(404, {"error": {"message": "model 'x' not found"}})

    def picky(request: Recorded) -> Answer:
        refused = "max_completion_tokens" in request.body
        return (
            Status(400, {"error": {"message": "Unsupported: max_completion_tokens"}})
            if refused
            else Json(text="OK")
        )

    async with ScriptedServer([wrong], models=["a", "b"], default=picky) as server:
        failed = await try_connection(studio, server.provider(model="x"), "")
        assert (failed.ok, failed.models) == (False, ("a", "b"))
        assert "does not know this model" in failed.text
        learned = await try_connection(studio, server.provider(model="a"), "")
        assert any(fact.startswith("Learned: ") and "max_tokens" in fact for fact in learned.facts)
        assert any("does not count tokens" in fact for fact in learned.facts)
        fields = provider_fields(studio, server.provider(model="a"))
    assert of(fields, "takes_limit")["options"][0] == [None, "learned: max_tokens"]


async def test_the_form_is_taken_back_with_its_settings_and_says_what_is_wrong(studio: Studio) -> None:
    desk = Desk(studio)
    sheets = Sheets(desk)
    values = {
        "preset": "vLLM", "name": "Mine", "base_url": "http://127.0.0.1:1/v1", "model": "m", "max_context": "4096",
        "first_token": "0.5", "timeout": "0.25", "additional": '{"min_p": 0.05}', "takes_limit": "max_tokens",
        "alternate": True, "drop_empty": None, "exact_counts": False,
    }  # fmt: skip
    bad = values | {"additional": "{min_p}", "timeout": "0"}
    answer = await sheets.submit({"form": "model", "id": 0, "values": bad, "action": "save"})
    assert answer["errors"].keys() == {"additional", "timeout"}
    assert answer["errors"]["additional"].startswith("This is no JSON")
    answer = await sheets.submit({"form": "model", "id": 0, "values": dict(values), "action": "save"})
    assert answer["ok"]
    (saved,) = (each for each in studio.providers.all() if each.name == "Mine")
    assert saved.additional_parameters == {"min_p": 0.05}
    assert saved.timeout == 0.25
    assert saved.settings == {
        "first_token_timeout": 0.5, "limit": "max_tokens", "alternate": True, "exact_counts": False
    }  # fmt: skip
    _, (section,) = sheets.record("model", saved.id)
    assert of(section["fields"], "additional")["value"] == '{\n  "min_p": 0.05\n}'


async def test_sampling_settings_have_a_switch_each(studio: Studio) -> None:
    protocol = studio.protocols.create(name="Warm", temperature=0.7)
    _, (section,) = Sheets(Desk(studio)).record("protocol", protocol.id)
    switched = {field["name"]: field["value"] for field in section["fields"] if field["kind"] == "switched"}
    assert switched == {
        "temperature": 0.7,
        "top_p": None,
        "frequency_penalty": None,
        "presence_penalty": None,
    }


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("exact (llama.cpp /tokenize)", "Counted exactly, by the model's server: llama.cpp /tokenize."),
        (
            "o200k_base x1.08, in part exact (vLLM /tokenize)",
            "Counted by the model's server (vLLM /tokenize), in part still estimated (o200k_base \u00d7 1.08).",
        ),
        (
            "o200k_base x1.05",
            "Estimated: o200k_base \N{MULTIPLICATION SIGN} 1.05. What the model's server reports corrects the factor.",
        ),
        ("words", "Estimated: words."),
        ("", ""),
    ],
)
def test_how_was_counted_is_said_in_a_sentence(name: str, told: str) -> None:
    assert counted_note(name) == told


async def test_a_window_shows_estimates_first_and_the_servers_numbers_when_typing_rests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MARGINALIA_EXACT_COUNTS", "yes")
    async with (
        ScriptedServer(default=Stream("Done."), counts_tokens=True) as server,
        Studio(tmp_path / "other.db", extensions=()) as studio,
    ):
        provider = studio.providers.create(name="P", base_url=server.base_url, model="m", max_context=4096)
        studio.books.create(name="B", provider=provider, protocol=studio.protocols.create(name="P"))
        desk, seen = Desk(studio), list[str]()
        desk.param.watch(lambda event: seen.append(event.new.counted if event.new else ""), "budget")
        await desk.open()
        async with asyncio.timeout(10):
            while not seen or not seen[-1].startswith("exact"):  # noqa: ASYNC110 - a window has no event for it
                await asyncio.sleep(0.02)
        desk.close()
        await asyncio.sleep(0)
        assert [name for name in dict.fromkeys(seen) if name] == [
            "o200k_base x1.05",
            "exact (llama.cpp /tokenize)",
        ]
        assert sum(request.path == "/tokenize" for request in server.requests) == 2
