"""Child processes that draw figures, so that a failed drawing loses only its figure.

A chart can abort the process that draws it (text that is not XML, a limited address space), never
finish, or use all memory. The caller then gets a `Drawing` with a reason instead of pictures.
Children are new processes, not forks; they exit with this process, even if it is killed.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Self

from dumbbell.report.figure_frames import BEGUN, END, READY, Frames, Request, frame

PATIENCE_S = 60.0
"""Longest wait for the next part of a figure; most take a tenth of a second."""
MOST_PROCESSES = 2
"""A child uses about 300 MB, and a report has about a dozen figures."""
WORTH_A_PROCESS = 8
"""Number of figures drawn in the time that one more child takes to start."""
_CHUNK_BYTES = 1 << 20
_MOST_LOGGED_BYTES = 1 << 14
_LONGEST_REASON = 300
_MOST_ATTEMPTS = 2
_STOPPED = "drawing was stopped"
_CODE = (
    "import sys; sys.path[:] = sys.argv[3:]; from dumbbell.report import figure_child; "
    "figure_child.main(int(sys.argv[1]), int(sys.argv[2]))"
)


@dataclass(slots=True)
class Drawing:
    """A request to a child and its result.

    Attributes:
        request: The request.
        parts: Results: contents by suffix, or under `SCRIPT`.
        lost: Why parts are missing, as part of a sentence; empty when nothing is missing.
        is_done: Whether the request is complete.
    """

    request: Request
    parts: dict[str, bytes] = field(default_factory=dict)
    lost: str = ""
    is_done: bool = False
    attempts: int = 0
    """Number of children it was sent to. A child that dies before it begins does not count as a
    failure of the figure."""


class FigureProcesses:
    """Child processes that live until the context exits: one, and more if many figures wait.

    Not thread-safe. Any exception in `wait` (such as Ctrl-C) ends the children.
    """

    def __init__(self, most: int = MOST_PROCESSES, patience_s: float = PATIENCE_S) -> None:
        """Start no child yet.

        Args:
            most: Concurrent children, at least 1; limited to the number of processors.
            patience_s: Longest wait for the next part of a figure.
        """
        self._most = min(most, os.cpu_count() or 1)
        self._patience_s = patience_s
        self._children: list[_Child] = []
        self._queued: deque[Drawing] = deque()
        self._selector = selectors.DefaultSelector()

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the children."""
        self.close()

    def close(self) -> None:
        """Kill the children; figures in progress are lost."""
        self._give_up(_STOPPED)
        while self._children:
            child = self._children[-1]
            if child.drawing is not None:
                _lose(child.drawing, _STOPPED)
            self._end(child)

    def start(self) -> None:
        """Start a child in the background, so that it is ready at the first `submit`."""
        if not self._children:
            self._started()

    def submit(self, request: Request) -> Drawing:
        """Queue a request; it is drawn in the background until the caller calls `wait`."""
        drawing = Drawing(request)
        self._queued.append(drawing)
        self._give_work()
        return drawing

    def wait(self, drawings: Sequence[Drawing]) -> None:
        """Return when all of these are done or lost. A lost drawing raises no exception."""
        try:
            for child in self._children:
                child.waited_since = time.monotonic()
            while not all(drawing.is_done for drawing in drawings):
                self._give_work()
                self._look()
        except BaseException:
            self.close()
            raise

    def _give_work(self) -> None:
        while self._queued:
            child = next((each for each in self._children if each.drawing is None), None)
            if child is None and self._wants_another():
                child = self._started()
            if child is None:
                return
            if not child.asked(self._queued.popleft(), self._patience_s):
                self._mourn(child)

    def _wants_another(self) -> bool:
        started = len(self._children)
        return started < self._most and len(self._queued) > WORTH_A_PROCESS * started

    def _started(self) -> _Child | None:
        """Start a child; if none can be started, all queued requests are lost."""
        if sys.platform == "win32":
            # A child inherits a socket, and select is used on its log; Windows supports neither.
            self._give_up("no process to draw in can be started on Windows")
            return None
        try:
            child = _Child()
        except OSError as error:
            self._give_up(f"no process to draw in can be started: {error}")
            return None
        self._children.append(child)
        self._selector.register(child.socket, selectors.EVENT_READ, child)
        self._selector.register(child.log_source, selectors.EVENT_READ, child)
        return child

    def _give_up(self, reason: str) -> None:
        while self._queued:
            _lose(self._queued.popleft(), reason)

    def _look(self) -> None:
        """Wait for output of any child, at most until the first deadline."""
        busy = [child for child in self._children if child.drawing is not None]
        left_s = min(map(self._left_s, busy), default=0.0)
        for key, _ in self._selector.select(max(0.0, left_s)):
            child: _Child = key.data
            if child not in self._children:
                continue  # already handled through its other file descriptor
            if key.fileobj is child.log_source:
                child.read_log()
            elif not child.read():
                self._mourn(child)
        for child in busy:
            is_at_it = child.drawing is not None and child in self._children
            if is_at_it and self._left_s(child) <= 0:
                self._bury(child, f"it was not drawn within {self._patience_s:g} s")

    def _left_s(self, child: _Child) -> float:
        """Return the time left for the child's next part, or for its start."""
        patience_s = self._patience_s if child.is_ready else max(self._patience_s, PATIENCE_S)
        return child.waited_since + patience_s - time.monotonic()

    def _mourn(self, child: _Child) -> None:
        """Handle a child that exited by itself."""
        drawing = child.drawing
        if drawing is not None and not child.has_begun and drawing.attempts < _MOST_ATTEMPTS:
            # The figure is not the cause of the exit; the child may have been idle.
            self._queued.appendleft(drawing)
            self._end(child)
        else:
            self._bury(child, child.last_words())

    def _bury(self, child: _Child, reason: str) -> None:
        """Kill a child. Its figure is lost; if no child can start, all queued figures are lost."""
        if child.drawing is not None:
            _lose(child.drawing, reason)
        if not child.is_ready:
            self._give_up(reason)
        self._end(child)

    def _end(self, child: _Child) -> None:
        self._children.remove(child)
        self._selector.unregister(child.socket)
        self._selector.unregister(child.log_source)
        child.end()


class _Child:
    """A child process and the drawing in progress."""

    def __init__(self) -> None:
        """Start one.

        Raises:
            OSError: No process can be started.
        """
        if not sys.executable:
            raise OSError("sys.executable names no Python")
        self.drawing: Drawing | None = None
        self.is_ready = False
        self.has_begun = False
        self.waited_since = time.monotonic()
        self._frames = Frames()
        self._log = bytearray()
        self.socket, there = socket.socketpair()
        with there:
            words = [sys.executable, "-P", "-c", _CODE, str(os.getpid()), str(there.fileno())]
            self._process = subprocess.Popen(
                [*words, *sys.path],  # so that the child imports the same modules
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=[there.fileno()],
                # Ctrl-C goes to the parent only, which may still finish the page.
                start_new_session=True,
            )
        assert self._process.stderr is not None
        self.log_source: IO[bytes] = self._process.stderr
        if sys.platform != "win32":  # not started on Windows
            os.set_blocking(self.log_source.fileno(), False)

    def asked(self, drawing: Drawing, patience_s: float) -> bool:
        """Send a request; return whether the child accepted it (False if the child has died)."""
        self.drawing, self.has_begun = drawing, False
        drawing.attempts += 1
        self._log.clear()
        try:
            # A child that does not read must not block this process.
            self.socket.settimeout(patience_s)
            self.socket.sendall(frame(drawing.request))
        except OSError:
            return False
        self.waited_since = time.monotonic()
        return True

    def read(self) -> bool:
        """Read what it has sent; return False on end of file."""
        try:
            data = self.socket.recv(_CHUNK_BYTES)
        except OSError:
            data = b""
        for head, content in self._frames.fed(data):
            self.waited_since = time.monotonic()
            self._take(head["part"], head.get("error", ""), content)
        return bool(data)

    def _take(self, part: str, error: str, content: bytes) -> None:
        if part == READY:
            self.is_ready = True
        elif self.drawing is None:
            return
        elif part == BEGUN:
            self.has_begun = True
        elif part == END:
            self.drawing.is_done = True
            self.drawing = None
        elif error:
            self.drawing.lost = error
        else:
            self.drawing.parts[part] = content

    def read_log(self) -> None:
        """Read its standard error, of which the beginning is kept."""
        with contextlib.suppress(BlockingIOError):
            self._log += self.log_source.read(_CHUNK_BYTES) or b""
            del self._log[_MOST_LOGGED_BYTES:]

    def last_words(self) -> str:
        """Return why it died, as part of a sentence."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=1.0)
        self.read_log()
        status = self._process.returncode
        how = f"with status {status}" if status is not None and status >= 0 else "suddenly"
        if status is not None and status < 0:
            how = f"by {signal.Signals(-status).name}"
        reason = f"the process that draws ended {how}"
        if not self.is_ready and _addresses_are_limited():
            return (
                f"{reason}: the address space is limited (ulimit -v), and its JavaScript engine "
                "reserves tens of GB of addresses"
            )
        said = _in_one_line(self._log.decode("utf-8", errors="replace"))
        return f"{reason}: {said}" if said else reason

    def end(self) -> None:
        """Kill the child in any state."""
        self._process.kill()
        self._process.wait()
        self.socket.close()
        self.log_source.close()


def _addresses_are_limited() -> bool:
    if sys.platform == "win32":
        return False
    import resource

    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def _lose(drawing: Drawing, reason: str) -> None:
    drawing.lost, drawing.is_done = reason, True


def _in_one_line(log: str) -> str:
    """Return the beginning of a crash message, up to the stack trace."""
    lines = (line.strip("# \t") for line in log.splitlines())
    said: list[str] = []
    for line in filter(None, lines):
        if "stack" in line.lower():
            break
        said.append(line)
    return " ".join(said)[:_LONGEST_REASON]
