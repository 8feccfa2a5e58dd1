"""``flent`` (flent(1)): a test from one host to another.

It starts netperf, irtt and ping as on a testbed; their servers are started here. The tests are
those of Flent 2.1.1 that need nothing else. The title of the test, and so part of the name of its
data file, is the program's name, which may have letters, digits and ``-`` only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from dumbbell.spec.fields import PositiveTime, Time, time_ns, word
from dumbbell.spec.programs.base import (
    BetweenHosts,
    CommandContext,
    Ends,
    NewOutputFile,
    OutputReader,
    RunTimes,
    Task,
    Tool,
    bulk_packets,
    seconds,
)
from dumbbell.spec.programs.fields import Controller, Parallel, words_schema
from dumbbell.spec.refusal import Refused

_FLENT_FILES = Path("/usr/share/flent/flent")
FLENT = Tool("flent", "flent", content=(_FLENT_FILES,))
PYTHON = Tool("python3", "python3")
PING = Tool("ping", "iputils-ping")
IRTT = Tool("irtt", "irtt")
NETPERF = Tool("netperf", "")
NETSERVER = Tool("netserver", "")

_NS_PER_S = 10**9
_NS_PER_10_MS = 10_000_000
_PROCESSES_BYTES = 192 << 20
"""Memory of Python with numpy and matplotlib, and of the processes that read results, bytes."""
_STREAMS = 8
"""Number of processes of most tests; tests with a number of streams have that many more."""
_PLAIN_TITLE = re.compile(r"[A-Za-z0-9-]+")


@dataclass(frozen=True, slots=True)
class FlentTest:
    """One of its tests.

    Attributes:
        tools: Tools that it starts.
        delays: Number of delays that are added to the length of the load.
        counts: Keys for numbers of streams.
        has_tcp: Whether it has TCP streams.
    """

    tools: tuple[Tool, ...]
    delays: int = 2
    counts: tuple[str, ...] = ()
    has_tcp: bool = True


_TCP = FlentTest((PING, NETPERF, NETSERVER))
_RRUL = FlentTest((PING, IRTT, NETPERF, NETSERVER))
TESTS: Mapping[str, FlentTest] = MappingProxyType(
    {
        "ping": FlentTest((PING, IRTT), delays=0, has_tcp=False),
        "voip": FlentTest((IRTT,), delays=0, has_tcp=False),
        "rrul": _RRUL,
        "rrul_be": _RRUL,
        "rrul_be_nflows": FlentTest(_RRUL.tools, counts=("upload_streams", "download_streams")),
        "rrul_cs8": _RRUL,
        "rrul_noclassification": _RRUL,
        "rrul_up": _RRUL,
        "tcp_1up": _TCP,
        "tcp_1down": _TCP,
        **{f"tcp_{streams}{way}": _TCP for way in ("up", "down") for streams in (2, 4, 6, 8, 12)},
        "tcp_nup": FlentTest(_TCP.tools, counts=("upload_streams",)),
        "tcp_ndown": FlentTest(_TCP.tools, counts=("download_streams",)),
        "tcp_upload": _TCP,
        "tcp_download": _TCP,
        "tcp_bidirectional": _TCP,
        "cubic_bbr": _RRUL,
        "voip-1up": FlentTest((PING, IRTT, NETPERF, NETSERVER)),
        "voip-rrul": _RRUL,
    }
)
"""Tests by name."""

TestName = Annotated[str, BeforeValidator(word(*TESTS)), words_schema(*TESTS)]


class FlentProgram(BetweenHosts):
    """``flent TEST -H ADDRESS -l LENGTH -d DELAY -s STEP -t NAME``."""

    TOOLS: ClassVar = (FLENT, PYTHON)
    INSTEAD: ClassVar[str] = "`dumbbell flent TEST` runs Flent's tests, into the same files"
    WITHOUT: ClassVar[str] = (
        'test = "ping" and "voip" need no netperf, nor does `dumbbell flent TEST --backend '
        "kernel`, which has tests of the same names"
    )
    STARTS_OTHERS: ClassVar[bool] = True

    kind: Literal["flent"] = Field(
        default="flent",
        description="`flent`, with a netserver and an irtt server at the other host; most tests "
        "need netperf, which is not Debian's.",
    )
    test: TestName = Field(description="One of its tests.", examples=["rrul"])
    length: PositiveTime = Field(
        default="60s", description="Of the load (`-l`); whole seconds.", examples=["30s"]
    )
    delay: Time = Field(
        default="5s",
        description="Before and after the load, but in `ping` and `voip` (`-d`); whole seconds.",
    )
    step: PositiveTime = Field(
        default="200ms", description="Between its samples (`-s`); a multiple of 10 ms."
    )
    upload_streams: Parallel | None = Field(
        default=None, description="How many; of `tcp_nup` and `rrul_be_nflows`."
    )
    download_streams: Parallel | None = Field(
        default=None, description="How many; of `tcp_ndown` and `rrul_be_nflows`."
    )
    congestion_control: Controller | None = Field(
        default=None, description="Of all TCP streams; the kernel's own, cubic, when left out."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not _PLAIN_TITLE.fullmatch(self.name):
            allowed = "letters, digits and '-' only, as it writes its name into that of its file"
            raise Refused(self.name, allowed, path="name")
        for key in ("length", "delay"):
            if time_ns(getattr(self, key)) % _NS_PER_S:
                raise Refused(getattr(self, key), "whole seconds, as flent takes them", path=key)
        if time_ns(self.step) % _NS_PER_10_MS:
            raise Refused(self.step, "a multiple of 10 ms, as it hands it on", path="step")
        test = TESTS[self.test]
        for key in ("upload_streams", "download_streams"):
            if getattr(self, key) is not None and key not in test.counts:
                takes = [name for name, each in TESTS.items() if key in each.counts]
                allowed = f"only of {' and '.join(takes)}"
                raise Refused(getattr(self, key), allowed, path=key)
        if self.congestion_control is not None and not test.has_tcp:
            allowed = f"no such key of {self.test}, which sends nothing over TCP"
            raise Refused(self.congestion_control, allowed, path="congestion_control")
        return self

    def length_ns(self) -> int:
        """Length of load and delays; Flent notices the end of its programs up to a second late."""
        return time_ns(self.length) + TESTS[self.test].delays * time_ns(self.delay)

    @classmethod
    def tools(cls, asked: Mapping[str, Any]) -> tuple[Tool, ...]:
        """Flent and the tools that its test starts."""
        return (*cls.TOOLS, *TESTS[asked["test"]].tools)

    @classmethod
    def tasks(cls, asked: Mapping[str, Any], site: CommandContext) -> tuple[Task, ...]:
        """Servers in the other host, shared by all clients, and flent."""
        name, to = asked["name"], asked["to"]
        words = [asked["test"], "-4", "-H", site.address(asked["from"], to), "-t", name, "-D", "."]
        words += ["-l", seconds(asked["length_ns"]), "-d", seconds(asked["delay_ns"])]
        words += ["-s", seconds(asked["step_ns"])]
        for key, parameter in (
            ("upload_streams", "upload_streams"),
            ("download_streams", "download_streams"),
            ("congestion_control", "tcp_cong_control"),
        ):
            if asked[key] is not None:
                words += ["--test-parameter", f"{parameter}={asked[key]}"]
        tools = TESTS[asked["test"]].tools
        servers = [
            Task(
                tool.name,
                server,
                to,
                f"{server_name}.{to}.txt",
                RunTimes.BEFORE,
                Ends.INTERRUPTED,
                is_shared=True,
            )
            for tool, server_name, server in (
                # Without an address irtt listens on IPv6 only.
                (IRTT, "irtt-server", ("server", "-b", "0.0.0.0:2112")),
                (NETSERVER, "netserver", ("-D", "-4")),
            )
            if tool in tools
        ]
        flent = Task(
            "flent",
            tuple(words),
            asked["from"],
            f"{name}.flent.txt",
            left=(NewOutputFile(f"*.{name}.flent.gz", f"{name}.flent.gz", OutputReader.FLENT),),
        )
        return (*servers, flent)

    @classmethod
    def packets(cls, asked: Mapping[str, Any], capacity_bps: float, duration_ns: int) -> float:
        """Packets of a path saturated in both directions; for `ping` and `voip` about one per
        sample."""
        test = TESTS[asked["test"]]
        length_ns = asked["length_ns"] + test.delays * asked["delay_ns"]
        asking = 8.0 * length_ns / min(asked["step_ns"], 2 * _NS_PER_10_MS)
        return float(asking) + (2 * bulk_packets(capacity_bps, length_ns) if test.has_tcp else 0.0)

    @classmethod
    def memory_bytes(cls, asked: Mapping[str, Any]) -> int:
        """Memory of Python and of the processes that it starts."""
        streams = _STREAMS + sum(asked[f"{way}_streams"] or 0 for way in ("upload", "download"))
        return super().memory_bytes(asked) + _PROCESSES_BYTES + 2 * streams * (4 << 20)
