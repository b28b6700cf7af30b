from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginalia.inference import Models
from marginalia.inference.calibrated import Calibration, Calibrations
from marginalia.inference.local import LocalModel
from marginalia.inference.tokenizers import TiktokenTokenizer
from marginalia.pipeline.ports import Chunk
from marginalia.testing import ScriptedServer, Stream, WordTokenizer
from marginalia.values import Message, Provider
from tests.inference.asking import ask, call

HERE = Provider(base_url="http://127.0.0.1:1/v1", model="m")
LONG = (Message(role="system", content="word " * 400), Message(role="user", content="word " * 600))
FRAME = 4 * len(LONG) + 3


def test_before_anything_was_reported_an_estimate_is_taken_five_percent_higher() -> None:
    calibrations = Calibrations(WordTokenizer())
    assert calibrations.of(HERE) == Calibration(factor=1.05, reports=0)
    assert calibrations.tokenizer(HERE).count("word " * 100) == 105


def test_the_first_report_sets_the_factor_and_the_frame_of_the_chat_is_no_text() -> None:
    calibrations = Calibrations(WordTokenizer())
    calibrations.learn(HERE, LONG, 1300 + FRAME)
    tokenizer = calibrations.tokenizer(HERE)
    assert (tokenizer.count("word " * 100), tokenizer.name) == (130, "words x1.30")
    assert [tokenizer.count(""), tokenizer.count("one")] == [0, 1]


def test_later_reports_move_it_on_and_it_settles_where_they_agree() -> None:
    calibrations = Calibrations(WordTokenizer())
    for reported in (1300, 1100):
        calibrations.learn(HERE, LONG, reported + FRAME)
    assert calibrations.of(HERE).factor == pytest.approx(1.2)
    for _ in range(8):
        calibrations.learn(HERE, LONG, 1100 + FRAME)
    assert calibrations.of(HERE).factor == pytest.approx(1.1, abs=0.005)


def test_each_model_has_a_factor_of_its_own_and_no_model_none() -> None:
    inner = WordTokenizer()
    calibrations = Calibrations(inner)
    calibrations.learn(HERE, LONG, 2000 + FRAME)
    other = Provider(base_url=HERE.base_url, model="other")
    assert [calibrations.of(each).reports for each in (HERE, other)] == [1, 0]
    assert calibrations.of(Provider(base_url=f" {HERE.base_url}/ ", model="m", name="the same")).reports == 1
    assert calibrations.tokenizer(None) is inner


def test_a_tokenizer_that_was_taken_never_changes_its_counts() -> None:
    calibrations = Calibrations(WordTokenizer())
    before = calibrations.tokenizer(HERE)
    calibrations.learn(HERE, LONG, 2000 + FRAME)
    assert before.count("word " * 100) == 105
    assert calibrations.tokenizer(HERE).count("word " * 100) == 200


def test_the_tokenizer_stays_the_same_while_the_factor_hardly_moves() -> None:
    calibrations = Calibrations(WordTokenizer())
    calibrations.learn(HERE, LONG, 1100 + FRAME)
    before = calibrations.tokenizer(HERE)
    calibrations.learn(HERE, LONG, 1102 + FRAME)
    assert calibrations.tokenizer(HERE) is before


@pytest.mark.parametrize("reported", [None, 0, FRAME])
def test_a_report_that_says_nothing_teaches_nothing(reported: int | None) -> None:
    calibrations = Calibrations(WordTokenizer())
    calibrations.learn(HERE, LONG, reported)
    assert calibrations.of(HERE).reports == 0


def test_a_prompt_of_a_few_words_teaches_nothing_because_most_of_it_is_the_template() -> None:
    calibrations = Calibrations(WordTokenizer())
    calibrations.learn(HERE, (Message(role="user", content="Hello"),), 31)
    assert calibrations.of(HERE).reports == 0


@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(-10, 10**9)), max_size=20))
def test_whatever_servers_report_the_factor_stays_within_reason(reports: list[tuple[int, int]]) -> None:
    calibration = Calibration()
    for estimated, reported in reports:
        calibration = calibration.after(estimated, reported)
    assert 0.5 <= calibration.factor <= 4.0


def test_many_models_do_not_pile_up() -> None:
    calibrations = Calibrations(WordTokenizer())
    for number in range(200):
        calibrations.learn(Provider(model=str(number)), LONG, 2000)
        calibrations.tokenizer(Provider(model=str(number)))
    assert [calibrations.of(Provider(model=str(each))).reports for each in (0, 199)] == [0, 1]


async def test_every_answer_that_reports_its_usage_is_learned_from() -> None:
    calibrations = Calibrations(WordTokenizer())
    usage = {"prompt_tokens": 1500 + FRAME, "completion_tokens": 2}
    async with ScriptedServer([Stream("One ", "two.", usage=usage), Stream("No usage.")]) as server:
        provider = server.provider()
        watched = calibrations.watching(Models())
        assert watched.supports(provider)
        for text in ("One two.", "No usage."):
            async with watched.stream(call(provider, messages=LONG)) as arrivals:
                assert "".join([each.text async for each in arrivals if isinstance(each, Chunk)]) == text
    assert calibrations.of(provider) == Calibration(factor=1.5, reports=1)


async def test_leaving_a_watched_stream_closes_the_connection() -> None:
    async with ScriptedServer(default=Stream(*["word "] * 1000, pace=0.05)) as server:
        async with (
            Calibrations(WordTokenizer()).watching(Models()).stream(call(server.provider())) as arrivals
        ):
            await anext(arrivals)
        await server.completions[0].settled()
    assert server.completions[0].disconnected


ABSENT = LocalModel().why_absent()


@pytest.mark.model
@pytest.mark.skipif(bool(ABSENT), reason=ABSENT)
@pytest.mark.parametrize(
    "sentence",
    [
        "The lamp went out, and Mara listened. ",
        "Маяк погас, и Мара слушала море. ",  # noqa: RUF001 - Russian
    ],
)
async def test_after_one_answer_the_estimate_for_the_bundled_model_is_right_in_any_language(
    sentence: str,
) -> None:
    bundled = Provider(kind="bundled")
    tokenizer = TiktokenTokenizer()
    calibrations, models = Calibrations(tokenizer), Models(local=LocalModel(threads=1))
    prompt = (Message(role="user", content=sentence * 40),)
    try:
        async with calibrations.watching(models).stream(
            call(bundled, response=1, messages=prompt)
        ) as arrivals:
            async for _ in arrivals:
                pass
        longer = (Message(role="user", content=sentence * 55),)
        asked = await ask(call(bundled, response=1, messages=longer), models)
    finally:
        await models.aclose()
    assert asked.ending.usage is not None
    exact = asked.ending.usage.prompt_tokens
    assert calibrations.tokenizer(bundled).count(longer[0].content) == pytest.approx(exact, rel=0.05)
