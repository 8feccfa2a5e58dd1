"""A Dask scheduler in this process, with worker processes on this machine.

`distributed.LocalCluster` starts workers that import the main program again and receive Ctrl-C
themselves. Here workers are separate programs, as on a cluster. They end with this process, even if
it is killed, because a worker without a scheduler ends.
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
    """Start a scheduler on loopback with `workers` workers of one thread; yields its address.

    They are stopped when the context exits.

    Args:
        workers: Number of processes.

    Raises:
        OSError: A worker cannot be started.
    """
    from distributed import LocalCluster

    with contextlib.ExitStack() as leaving:
        cluster = LocalCluster(
            n_workers=0,
            host="127.0.0.1",
            # On loopback, any free port, and without its dashboard.
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
        # In its own process group: it does not receive Ctrl-C of the terminal, and it is ended
        # together with its children (Dask's nanny starts and restarts the worker itself).
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
    # A scheduler without workers has nothing to wait for.
    with contextlib.suppress(TimeoutError):
        cluster.close(timeout=_LEAVE_S)  # type: ignore[attr-defined]
