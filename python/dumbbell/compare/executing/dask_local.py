"""A Dask scheduler in this process and workers in new ones, on this machine alone.

`distributed.LocalCluster` starts workers that load the program that runs once more, and that hear
Ctrl-C themselves; here they are programs of their own, as on a cluster. They end with this process,
even when it is killed, since a worker without its scheduler does.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

_CODE = (
    "import sys; folders, sys.argv[1:] = sys.argv[1].split(chr(0x1f)), sys.argv[2:]; "
    "sys.path[:] = folders; from distributed.cli.dask_worker import main; main()"
)
_LEAVE_S = 1.0


@contextlib.contextmanager
def local_scheduler(workers: int) -> Iterator[str]:
    """The address of a scheduler on loopback, with `workers` workers of one thread.

    They are gone when the context is left.

    Args:
        workers: Processes.

    Raises:
        OSError: One cannot be started.
    """
    from distributed import LocalCluster

    with contextlib.ExitStack() as leaving:
        cluster = LocalCluster(
            n_workers=0,
            host="127.0.0.1",
            # On loopback and whatever port is free; of its pages none is served.
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
        )
        leaving.callback(_close, cluster)
        address = str(cluster.scheduler_address)
        for _ in range(workers):
            leaving.callback(_end, _worker(address, workers))
        yield address


def _worker(address: str, of: int) -> subprocess.Popen[bytes]:
    options = ["--nthreads=1", "--no-dashboard", f"--memory-limit={1 / of}", "--death-timeout=60"]
    return subprocess.Popen(
        [sys.executable, "-c", _CODE, "\x1f".join(sys.path), address, *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # A group of its own: Ctrl-C of the terminal is not for it, and it is ended with what it
        # has started (Dask's nanny starts the worker itself, again where it dies).
        process_group=0,
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _close(cluster: object) -> None:
    # Of a scheduler without workers nothing is left to wait for.
    with contextlib.suppress(TimeoutError):
        cluster.close(timeout=_LEAVE_S)  # type: ignore[attr-defined]
