"""The program of a process that runs user-supplied controllers, started only by `isolated`.

It reads one JSON message per line from standard input, and writes one per line to the original
standard output: the run's progress, and at its end the location of its tables.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from dumbbell import _engine
from dumbbell.backends.native.python_class import loaded_class

_POLL_S = 0.1


def main() -> None:
    """Perform runs until the input ends."""
    # Output of a controller must not be mistaken for a message.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    requests = _Requests(sys.stdin)
    while (request := requests.next()) is not None:
        _run(request, answers)


def _run(request: dict[str, Any], answers: TextIO) -> None:
    try:
        # Executed anew, so that runs share no variables.
        classes = {
            (each["sha256"], each["class_name"]): loaded_class(
                Path(each["path"]), each["shown"], each["class_name"]
            )
            for each in request["classes"]
        }
    except BaseException:
        _tell(answers, {"error": traceback.format_exc().rstrip(), "failure": ""})
        return
    stream = _engine.simulate(
        [(request["description"], request["replication"], request["capture"])],
        threads=1,
        memory_bytes=request["memory_bytes"],
        controllers=request["controllers"],
        classes=classes,
    )
    events, since_s = 0, time.process_time()
    while (completed := stream.poll(_POLL_S)) is None:
        now = stream.progress()
        if now.events != events:
            events, since_s = now.events, time.process_time()
        still_s = time.process_time() - since_s
        _tell(answers, {"share": now.virtual_fraction, "events": events})
        if still_s > request["still_s"]:
            what = f"did not return in {still_s:.0f} s of CPU time"
            _tell(answers, {"error": f"a user-supplied controller {what}", "failure": ""})
            os._exit(1)
    if completed.error is not None:
        failure = str(completed.failure).rpartition(".")[2]
        _tell(answers, {"error": completed.error, "failure": failure})
        return
    columns = {
        f"{table}/{name}": values
        for table, found in completed.take_tables().items()
        for name, values in found.items()
    }
    np.savez(Path(request["tables"]), **columns)  # type: ignore[arg-type]
    _tell(
        answers,
        {
            "digest": completed.digest,
            "events": completed.events,
            "memory_bytes": completed.memory_bytes,
        },
    )


def _tell(answers: TextIO, message: dict[str, Any]) -> None:
    print(json.dumps(message), file=answers, flush=True)


class _Requests:
    """Lines of the input; at its end this process exits, even during a run."""

    def __init__(self, source: TextIO) -> None:
        self._heard: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=self._listen, args=(source,), daemon=True).start()

    def next(self) -> dict[str, Any] | None:
        line = self._heard.get()
        return None if line is None else dict(json.loads(line))

    def _listen(self, source: TextIO) -> None:
        for line in source:
            self._heard.put(line)
        os._exit(0)


if __name__ == "__main__":
    main()
