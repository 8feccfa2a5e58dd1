"""Whether what answers at an address is a Dask scheduler.

A client of Dask's waits minutes for what accepts a connection and says nothing, and logs tracebacks
of what speaks another protocol.
"""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any


class NoSchedulerError(Exception):
    """What is at an address is none; the message says why."""


def check_scheduler(address: str, within_s: float) -> None:
    """Ask what is there what it is.

    Args:
        address: Such as ``tcp://host:8786``.
        within_s: Seconds in which it has to have answered.

    Raises:
        NoSchedulerError: It has not, or says something else.
    """
    # In a thread: whoever calls may have a loop of asyncio of their own, as notebooks have.
    with ThreadPoolExecutor(1) as aside:
        said = aside.submit(lambda: asyncio.run(_said(address, within_s))).result()
    what = said.get("type") if isinstance(said, dict) else None
    if what != "Scheduler":
        raise NoSchedulerError(f"it says that it is {what or 'something else'}")


async def _said(address: str, within_s: float) -> Any:
    try:
        return await asyncio.wait_for(_asked(address, within_s), within_s)
    except TimeoutError:
        raise NoSchedulerError(f"nothing was said in {within_s:g} s") from None
    except Exception as error:  # whatever reading a stranger's bytes leads to
        why = str(error) or type(error).__name__
        raise NoSchedulerError(why) from None


async def _asked(address: str, within_s: float) -> Any:
    from distributed.comm.core import connect
    from distributed.security import Security

    arguments = Security().get_connection_args("client")
    # A scheduler is trusted with pickles, what is none yet is not: nothing is made of what it says.
    comm = await connect(address, timeout=within_s, deserialize=False, **arguments)
    try:
        await comm.write({"op": "identity", "reply": True})
        return await comm.read()
    finally:
        with contextlib.suppress(Exception):
            comm.abort()
