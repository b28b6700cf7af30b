"""Running a function that may never come back, in a thread that nobody has to wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


async def in_a_thread_of_its_own(function: Callable[..., T], *arguments: object) -> T:
    """What *function* gives or raises; when this is cancelled, the function is left alone.

    A thread of a pool would be waited for: one call that hangs would keep the whole program from ending.
    This one is not.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()
    context = copy_context()

    def settle(value: T | None, error: BaseException | None) -> None:
        if answer.done():
            return
        if error is None:
            answer.set_result(value)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - without an error there is a value
        elif isinstance(error, StopIteration):
            answer.set_exception(RuntimeError("it raised StopIteration"))
        else:
            answer.set_exception(error)

    def work() -> None:
        value, failure = None, None
        try:
            value = context.run(function, *arguments)
        except BaseException as error:  # noqa: BLE001 - whatever it raises belongs to the one who waits
            failure = error
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(settle, value, failure)

    Thread(target=work, name="marginalia extension", daemon=True).start()
    return await answer
