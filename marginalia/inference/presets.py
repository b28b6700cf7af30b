"""Servers that people are likely to have: where they listen, whether they want a key, and what is peculiar to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from marginalia.values import NOTHING


class KeyWanted(StrEnum):
    """Whether a server wants an API key."""

    NO = "no"
    MAYBE = "maybe"
    YES = "yes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A server to begin a provider with. ``note`` says what one has to know; ``settings`` are ``Provider.settings``."""

    name: str
    base_url: str
    key: KeyWanted = KeyWanted.NO
    note: str = ""
    settings: Mapping[str, Any] = NOTHING


PRESETS = (
    Preset(
        name="llama.cpp",
        base_url="http://127.0.0.1:8080/v1",
        key=KeyWanted.MAYBE,
        note="Its context is set with -c when llama-server starts, and shared by its slots. It counts tokens exactly.",
    ),
    Preset(
        name="Ollama",
        base_url="http://127.0.0.1:11434/v1",
        note=(
            "It cuts long prompts without a word at its own context, often 4,096 tokens: set OLLAMA_CONTEXT_LENGTH "
            "where it is started, and load the model once before you test."
        ),
    ),
    Preset(
        name="LM Studio",
        base_url="http://127.0.0.1:1234/v1",
        note="Start its server on the Developer page. The context is the one that the model was loaded with.",
    ),
    Preset(
        name="vLLM",
        base_url="http://127.0.0.1:8000/v1",
        key=KeyWanted.MAYBE,
        note="It takes the model's name exactly as it was served. It counts tokens exactly.",
    ),
    Preset(
        name="KoboldCpp",
        base_url="http://127.0.0.1:5001/v1",
        note="A large limit for the answer shortens what it reads of the prompt. It counts tokens exactly.",
    ),
    Preset(
        name="text-generation-webui",
        base_url="http://127.0.0.1:5000/v1",
        note="Start it with --api. It cuts long prompts without a word. It counts tokens exactly.",
    ),
    Preset(
        name="TabbyAPI",
        base_url="http://127.0.0.1:5000/v1",
        key=KeyWanted.YES,
        note="Its key stands in api_tokens.yml. It counts tokens exactly.",
    ),
    Preset(
        name="transformers serve",
        base_url="http://127.0.0.1:8000/v1",
        note="It passes over max_completion_tokens and would write on without end, so the older name is sent.",
        settings={"limit": "max_tokens"},
    ),
    Preset(
        name="LiteLLM proxy",
        base_url="http://127.0.0.1:4000/v1",
        key=KeyWanted.MAYBE,
        note="An answer that breaks off behind the proxy looks like a finished one. Its own token counts are guesses.",
    ),
    Preset(
        name="OpenAI",
        base_url="https://api.openai.com/v1",
        key=KeyWanted.YES,
        note="It does not tell the context of its models: look it up. Reasoning models take no temperature.",
    ),
    Preset(
        name="OpenRouter",
        base_url="https://openrouter.ai/api/v1",
        key=KeyWanted.YES,
        note="Its list has hundreds of models. Whether stopping saves money depends on who runs the model.",
    ),
    Preset(
        name="Mistral",
        base_url="https://api.mistral.ai/v1",
        key=KeyWanted.YES,
        note="It refuses parameters that it does not know; the older name of the limit is sent.",
        settings={"limit": "max_tokens"},
    ),
    Preset(
        name="Groq",
        base_url="https://api.groq.com/openai/v1",
        key=KeyWanted.YES,
        note="“Request too large” there means too many tokens a minute for your plan, not a prompt that is too long.",
    ),
    Preset(
        name="DeepSeek",
        base_url="https://api.deepseek.com/v1",
        key=KeyWanted.YES,
        note="It does not tell the context of its models: look it up. While it is busy it keeps the line open.",
    ),
    Preset(
        name="Anthropic",
        base_url="https://api.anthropic.com/v1",
        key=KeyWanted.YES,
        note="All system messages are moved to the front there, and empty messages are refused.",
        settings={"system_first": True, "drop_empty": True},
    ),
    Preset(
        name="Google Gemini",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        key=KeyWanted.YES,
        note="Its filters may end an answer early; the run then says so.",
    ),
)
"""Servers of one's own first, then services; the first field of the form offers them."""
