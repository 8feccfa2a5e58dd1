"""``dumbbell kernel test``: check the virtual-time kernel on this machine.

A shell script with ``tc`` commands is the init of three short guests: two with the same seed, one
with another.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dumbbell.backends.kernel.folders import RunFolder, remove_left_folders
from dumbbell.backends.kernel.launch import EPOCH_NS, LaunchResult, launch
from dumbbell.errors import RunError

QDISCS = {
    "pfifo": "pfifo limit 100",
    "bfifo": "bfifo limit 100kb",
    "pfifo_fast": "pfifo_fast",
    "tbf": "tbf rate 10mbit burst 10kb limit 100kb",
    "htb": "htb default 1",
    "hfsc": "hfsc default 1",
    "prio": "prio",
    "ets": "ets bands 3",
    "drr": "drr",
    "qfq": "qfq",
    "netem": "netem delay 10ms 1ms loss 1% rate 10mbit",
    "red": "red limit 400kb min 30kb max 90kb avpkt 1000 burst 55 bandwidth 10mbit",
    "gred": "gred setup DPs 2 default 0",
    "sfb": "sfb",
    "sfq": "sfq perturb 10",
    "choke": "choke limit 1000 bandwidth 10mbit min 100 max 300",
    "codel": "codel",
    "fq_codel": "fq_codel",
    "cake": "cake bandwidth 10mbit",
    "fq": "fq",
    "hhf": "hhf",
    "pie": "pie target 15ms tupdate 15ms",
    "fq_pie": "fq_pie",
    "skbprio": "skbprio limit 100",
    "plug": "plug limit 10000",
}
"""Every discipline that a laboratory may ask for, in ``tc`` syntax."""

CONTROLLERS = frozenset(
    (
        *("reno", "cubic", "bbr", "bic", "westwood", "htcp", "highspeed", "hybla", "vegas"),
        *("nv", "scalable", "lp", "veno", "yeah", "illinois", "dctcp", "cdg"),
    )
)
"""Congestion controllers, by the kernel's names."""

_SLEEP_S = 1000
_SCRIPT = """#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
# -n: no note of it in the /run of the host.
mount -n -t tmpfs tmpfs /run || exit 2
mount -n -t proc proc /proc && mount -n -t sysfs sysfs /sys || exit 2
exec > "$1/out.txt" 2>&1
echo "release $(uname -r)"
echo "before $(date +%s%N)"
sleep @SLEEP@
echo "after $(date +%s%N)"
echo "controllers $(cat /proc/sys/net/ipv4/tcp_available_congestion_control)"
echo "urandom $(od -An -tx1 -N16 /dev/urandom | tr -d ' ')"
ip link add name d0 type dummy || exit 3
ip link set d0 up || exit 3
echo qdiscs-begin
tc -force -batch "$1/tc.batch"
echo qdiscs-end
ip netns add left && ip netns add right || exit 4
ip link add name l0 netns left type veth peer name r0 netns right || exit 4
for side in left right; do
  dev=l0 address=10.0.0.1
  [ $side = right ] && dev=r0 address=10.0.0.2
  ip -n $side address add $address/24 dev $dev && ip -n $side link set $dev up || exit 4
  tc -n $side qdisc add dev $dev root netem delay 10ms || exit 4
done
command -v ping >/dev/null || { echo ping-missing; exit 0; }
echo ping-begin
ip netns exec left ping -c 6 -i 1 10.0.0.2
echo ping-end
exit 0
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check.

    Attributes:
        name: Name of the check.
        ok: Whether it passed.
        detail: The observation.
    """

    name: str
    ok: bool
    detail: str


def self_test(kernel: Path, *, wall_limit_s: float = 60.0) -> Iterator[Finding]:
    """Check the kernel; findings are yielded one by one.

    Raises:
        RunError: ``tc`` or ``ip`` is not installed.
    """
    for tool in ("tc", "ip"):
        if shutil.which(tool, path="/usr/sbin:/usr/bin:/sbin:/bin") is None:
            raise RunError(f"{tool} is not installed: apt-get install iproute2")
    remove_left_folders()
    with RunFolder() as scratch:
        first = _boot(kernel, Path(scratch, "a"), 1, wall_limit_s)
        yield Finding("boots", first.ok, first.cost())
        if not first.ok:
            return
        yield from _judged(first)
        again = _boot(kernel, Path(scratch, "another folder"), 1, wall_limit_s)
        same = again.ok and again.output == first.output
        yield Finding("same seed, other folder", same, "equal to the byte" if same else "differs")
        other = _boot(kernel, Path(scratch, "c"), 2, wall_limit_s)
        differs = other.ok and other.word("urandom") != first.word("urandom")
        yield Finding("other seed", differs, "other random bytes" if differs else "the same bytes")


@dataclass(frozen=True, slots=True)
class _Boot:
    result: LaunchResult
    output: bytes

    @property
    def ok(self) -> bool:
        return self.result.ok

    @property
    def text(self) -> str:
        return self.output.decode("utf-8", "replace")

    def cost(self) -> str:
        if not self.ok:
            return self.result.why() + "\n" + self.text[-400:]
        return f"{self.result.wall_s:.2f} s of wall time, {self.result.cpu_s:.2f} s of CPU time"

    def word(self, name: str) -> str:
        """Rest of the line that starts with the name; empty if there is none."""
        for line in self.text.splitlines():
            if line.startswith(name + " "):
                return line.removeprefix(name + " ")
        return ""

    def between(self, name: str) -> str:
        _, _, rest = self.text.partition(f"{name}-begin\n")
        return rest.partition(f"{name}-end\n")[0]


def _boot(kernel: Path, folder: Path, seed: int, wall_limit_s: float) -> _Boot:
    folder.mkdir()
    init = folder / "init"
    init.write_text(_SCRIPT.replace("@SLEEP@", str(_SLEEP_S)), encoding="utf-8")
    init.chmod(0o700)
    lines = []
    for qdisc in QDISCS.values():
        lines += [f"qdisc add dev d0 root {qdisc}", "qdisc show dev d0", "qdisc del dev d0 root"]
    (folder / "tc.batch").write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = launch(
        kernel, init, run_dir=folder, seed=seed, wall_limit_s=wall_limit_s, args=[str(folder)]
    )
    out = folder / "out.txt"
    return _Boot(result, out.read_bytes() if out.exists() else b"")


def _judged(boot: _Boot) -> Iterator[Finding]:
    yield Finding("release", bool(boot.word("release")), boot.word("release"))
    before, after = (int(boot.word(name) or 0) for name in ("before", "after"))
    slept = (after - before) / 1e9
    ok = 0 <= before - EPOCH_NS < 10**9 and 0 <= slept - _SLEEP_S < 0.01
    yield Finding("virtual clock", ok, f"sleep {_SLEEP_S} took {slept:.6f} s of virtual time")

    shown = {line.split()[1] for line in boot.between("qdiscs").splitlines() if "qdisc " in line}
    missing = [name for name in QDISCS if name not in shown]
    found = f"{len(QDISCS) - len(missing)} of {len(QDISCS)}"
    yield Finding("disciplines", not missing, found + _missing(missing))

    missing = sorted(CONTROLLERS - set(boot.word("controllers").split()))
    found = f"{len(CONTROLLERS) - len(missing)} of {len(CONTROLLERS)}"
    yield Finding("congestion controllers", not missing, found + _missing(missing))

    if "ping-missing" in boot.text:
        yield Finding("ping", True, "not tried: apt-get install iputils-ping")
        return
    times = [
        float(line.partition("time=")[2].split()[0])
        for line in boot.between("ping").splitlines()
        if "time=" in line
    ]
    ok = len(times) == 6 and round(min(times), 2) == 20.0
    detail = f"{len(times)} of 6 back, least {min(times):.3f} ms" if times else "nothing came back"
    yield Finding("ping over netem, 10 ms each way", ok, detail)


def _missing(names: list[str]) -> str:
    return f"; missing: {', '.join(names)}" if names else ""
