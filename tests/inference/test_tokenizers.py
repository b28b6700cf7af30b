from __future__ import annotations

from pathlib import Path

import pytest

from marginalia.inference.tokenizers import TiktokenTokenizer, estimate_tokens


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> TiktokenTokenizer:
    return TiktokenTokenizer(tmp_path_factory.mktemp("ranks"))


def test_counts_are_those_of_o200k_without_a_network(tokenizer: TiktokenTokenizer) -> None:
    assert [tokenizer.count(text) for text in ("", "hello world", "<|endoftext|>", "tiktoken is great!")] == [
        0,
        2,
        7,
        6,
    ]
    assert (tokenizer.name, tokenizer.exact, tokenizer.problem) == ("o200k_base", True, "")


def test_a_long_text_counts_the_same_in_pieces_as_whole(tokenizer: TiktokenTokenizer) -> None:
    paragraph = "The lamp went out. “Again,” said Mara.\n\n  Nobody answered.\n"
    long = paragraph * 4000
    assert len(long) > 100_000
    assert tokenizer.count(long) == pytest.approx(tokenizer.count(paragraph * 1000) * 4, abs=8)


def test_a_million_spaces_do_not_hurt(tokenizer: TiktokenTokenizer) -> None:
    assert tokenizer.count(" " * 1_000_000) > 0


def test_half_a_character_does_not_hurt(tokenizer: TiktokenTokenizer) -> None:
    assert tokenizer.count("a\ud83e b") > 0


async def test_the_ranks_can_be_read_beforehand_in_a_thread(tmp_path: Path) -> None:
    tokenizer = TiktokenTokenizer(tmp_path)
    await tokenizer.load()
    assert tokenizer.exact


def test_ranks_that_cannot_be_read_give_an_estimate_now_and_another_try_later(tmp_path: Path) -> None:
    class Encoding:
        def encode_ordinary(self, text: str) -> list[int]:
            return [0] * len(text)

    now, tries = [0.0], []

    def loader(folder: Path) -> Encoding:
        tries.append(folder)
        if len(tries) == 1:
            raise OSError("disk trouble")
        return Encoding()

    tokenizer = TiktokenTokenizer(tmp_path, loader=loader, clock=lambda: now[0])
    assert (tokenizer.count("12345678"), tokenizer.name, len(tries)) == (2, "estimate", 1)
    assert "disk trouble" in tokenizer.problem
    now[0] = 59.0
    assert (tokenizer.count("12345678"), len(tries)) == (2, 1)
    now[0] = 61.0
    assert (tokenizer.count("12345678"), tokenizer.name, tokenizer.problem) == (8, "o200k_base", "")


def test_damaged_ranks_in_the_folder_are_replaced(tmp_path: Path) -> None:
    first = TiktokenTokenizer(tmp_path)
    first.count("a")
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"damaged")
    from marginalia.inference.tokenizers import _provide_ranks, _right  # noqa: PLC0415 - the step under test

    _provide_ranks(tmp_path)
    assert _right(file.read_bytes())


def test_an_estimate_knows_that_other_scripts_need_more_tokens() -> None:
    assert [estimate_tokens(text) for text in ("", "abcd", "abcde", "日本語")] == [0, 1, 2, 2]
