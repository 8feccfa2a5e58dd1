"""Check whether a Dask scheduler answers at an address.

Dask's own client waits for minutes if a server accepts the connection and stays silent, and logs
tracebacks if the server speaks another protocol.
"""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any


class NoSchedulerError(Exception):
    """No scheduler answers at the address; the message says why."""


def check_scheduler(address: str, within_s: float) -> None:
    """Ask the server at an address whether it is a scheduler.

    Args:
        address: Such as ``tcp://host:8786``.
        within_s: Time in which it must answer, s.

    Raises:
        NoSchedulerError: It does not answer, or is something else.
    """
    # In a thread: the caller may run an asyncio loop, as notebooks do.
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
    except Exception as error:  # any error from parsing a stranger's bytes
        why = str(error) or type(error).__name__
        raise NoSchedulerError(why) from None


async def _asked(address: str, within_s: float) -> Any:
    from distributed.comm.core import connect
    from distributed.security import Security

    arguments = Security().get_connection_args("client")
    # A scheduler is trusted with pickles; before we know it is one, nothing is deserialized.
    comm = await connect(address, timeout=within_s, deserialize=False, **arguments)
    try:
        await comm.write({"op": "identity", "reply": True})
        return await comm.read()
    finally:
        with contextlib.suppress(Exception):
            comm.abort()
