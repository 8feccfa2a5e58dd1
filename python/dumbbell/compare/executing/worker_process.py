"""The program of a worker process, started by `processes`, never by hand.

It reads one JSON message per line from standard input and writes one per line to the original
standard output. It ends at the end of its input, which is when its parent stops or dies.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TextIO

from dumbbell.compare.executing.wire import Json, Sender, tasks_from_json
from dumbbell.compare.executing.worker import outcomes

STOPS_WITHIN_S = 1.5
"""Time limit after the end of its input. The engine checks for cancellation ten times a second."""


def main() -> None:
    """Perform tasks until the input ends."""
    # Output of libraries (such as warnings) must not be mistaken for a message.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    requests: queue.SimpleQueue[Json | None] = queue.SimpleQueue()
    stop = threading.Event()
    threading.Thread(target=_read, args=(sys.stdin, requests, stop), daemon=True).start()

    def tell(message: Json) -> None:
        print(json.dumps(message), file=answers, flush=True)

    try:
        tell({})
        sender = Sender()
        while (request := requests.get()) is not None and not stop.is_set():
            _do(request, sender, tell, stop)
    except BrokenPipeError:
        os._exit(1)  # the parent has gone, and nothing may be printed on exit


def _do(request: Json, sender: Sender, tell: Callable[[Json], None], stop: threading.Event) -> None:
    began_s = time.monotonic()
    places = request["places"]
    told = outcomes(
        tasks_from_json(request),
        memory_bytes=request["memory_bytes"],
        cancel=stop,
        on_progress=lambda done: tell({"done": done}),
    )
    for outcome in told:
        tell(sender.message(replace(outcome, index=places[outcome.index])))
    tell({"took_s": time.monotonic() - began_s})


def _read(source: TextIO, requests: queue.SimpleQueue[Json | None], stop: threading.Event) -> None:
    for line in source:
        requests.put(json.loads(line))
    stop.set()
    requests.put(None)
    # Python code that does not return would keep this process alive forever.
    threading.Event().wait(STOPS_WITHIN_S)
    os._exit(1)


if __name__ == "__main__":
    main()
