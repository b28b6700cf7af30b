"""The process of the bundled model: ``python -m marginalia.inference.local_server``, started by :mod:`.local` alone.

It reads its settings as one line of JSON from standard input, answers with one line of JSON that holds its address (or
an ``error``), and serves until standard input ends. That is how it dies with its parent, however the parent dies: the
other end of a pipe is closed even by ``kill -9``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from importlib import import_module
from typing import Any

# A package of compiled code without types.
xllamacpp: Any = import_module("xllamacpp")


def main() -> None:
    """Serve the model until the parent is gone."""
    # Ctrl-C in the terminal goes to the whole group; when to end is the parent's decision.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    settings = json.loads(sys.stdin.readline())
    try:
        server = xllamacpp.Server(_parameters(settings))
        report: dict[str, str] = {"url": server.listening_address}
    except Exception as error:  # noqa: BLE001 - the library raises what it likes; the parent tells the writer
        report = {"error": str(error) or type(error).__name__}
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()
    if "url" in report:
        sys.stdin.read()
    # An orderly shutdown would wait for answers that nobody reads any more.
    os._exit(0)


def _parameters(settings: dict[str, Any]) -> Any:  # noqa: ANN401 - a package without types
    parameters = xllamacpp.CommonParams()
    parameters.model.path = settings["model"]
    parameters.model_alias = {settings["name"]}
    parameters.api_keys = [settings["key"]]
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    # Every run has a context of its own: in a shared one, two long prompts at once would both fail.
    parameters.n_ctx = settings["context"] * settings["parallel"]
    parameters.n_parallel = settings["parallel"]
    parameters.kv_unified = False
    parameters.cpuparams.n_threads = settings["threads"]
    parameters.cpuparams_batch.n_threads = settings["threads"]
    parameters.n_batch = settings["batch"]
    # Prompts of idle slots are kept in memory: half a gigabyte of them, where the library would take eight.
    parameters.cache_ram_mib = 512
    # When old parts leave, a prompt and the last one of its book have little more than the system message in common: by
    # the library's own measure, a tenth, it would be given another slot, and all that only moved would be read anew.
    parameters.slot_prompt_similarity = 0.01
    parameters.ui = False
    parameters.sse_ping_interval = 5
    return parameters


if __name__ == "__main__":
    main()
