"""A Dask scheduler and workers started from the command line, on loopback."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from waiting import wait_until

OTHER_MODULE = """
import dumbbell.backends.host as host
import dumbbell.backends as backends
backends.native_module_sha256 = lambda: "0" * 64
"""
NO_DUMBBELL = """
import sys
sys.modules["dumbbell"] = None
"""


class Cluster:
    """A scheduler, and workers that are started and killed one by one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._started(
            "dask_scheduler",
            "--host=127.0.0.1",
            "--port=0",
            "--no-dashboard",
            f"--scheduler-file={folder / 'scheduler.json'}",
        )
        self.address = wait_until(self._address, "a scheduler")

    def _address(self) -> str:
        """Of the scheduler, nothing while it has not written it."""
        with contextlib.suppress(OSError, ValueError):
            return str(json.loads((self._folder / "scheduler.json").read_text())["address"])
        return ""

    def worker(self, before: str = "") -> subprocess.Popen[bytes]:
        """A new one, without the nanny that would start it again."""
        options = [self.address, "--nthreads=1", "--no-nanny", "--no-dashboard"]
        return self._started("dask_worker", *options, before=before)

    def _started(self, program: str, *options: str, before: str = "") -> subprocess.Popen[bytes]:
        code = f"{before}\nfrom distributed.cli.{program} import main; main()"
        with (self._folder / "log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-c", code, *options],
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )
        self._processes.append(process)
        return process

    def end(self) -> None:
        """All of them."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()


@contextlib.contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A scheduler and `workers` workers, gone when the context is left."""
    made = Cluster(folder)
    try:
        for _ in range(workers):
            made.worker()
        yield made
    finally:
        made.end()


def kill(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
