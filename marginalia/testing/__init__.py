"""For tests of Marginalia and of its extensions: a scripted model server, a tokenizer that counts words.

::

    async with ScriptedServer([Stream("The lamp ", "went out.")]) as server:
        provider = server.provider()
        ...
        assert server.completions[0].body["model"] == provider.model

Nothing here needs a network beyond loopback, and nothing is random.
"""

from __future__ import annotations

from marginalia.testing.answers import (
    Answer,
    Deltas,
    Json,
    Pause,
    Raw,
    Reasoning,
    Refuse,
    Silent,
    Status,
    Stream,
    answer_from,
)
from marginalia.testing.exchange import Recorded
from marginalia.testing.server import ScriptedServer
from marginalia.testing.words import WordTokenizer

__all__ = [
    "Answer",
    "Deltas",
    "Json",
    "Pause",
    "Raw",
    "Reasoning",
    "Recorded",
    "Refuse",
    "ScriptedServer",
    "Silent",
    "Status",
    "Stream",
    "WordTokenizer",
    "answer_from",
]
