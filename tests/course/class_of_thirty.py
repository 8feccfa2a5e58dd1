"""Submissions for tests: working controllers, and malicious ones."""

from __future__ import annotations

from pathlib import Path

LINE = """
name = "line"
duration = "2s"
warm_up = "500ms"
links = [{ a = "server", b = "home", rate = "10mbit", delay = "10ms", qdisc = "pfifo limit 60" }]
probes = [{ name = "call", from = "home", to = "server", interval = "50ms" }]

[[flows]]
name = "download"
from = "server"
to = "home"
start_jitter = "50ms"
source = { kind = "greedy" }

[[claim]]
id = "goodput"
kind = "ordering"
statement = "It gets <b>half</b> of the line"
quantity = "flow[download].goodput_bps"
above = "5mbit"

[[claim]]
id = "delay"
kind = "ordering"
statement = "A call's round trips stay below 20.5 ms"
quantity = "probe[call].mean_rtt_ms"
below = "20.5ms"

[[claim]]
id = "not-less-than-reno"
kind = "ordering"
statement = "It gets no less than Reno, give or take 1 Mbit/s"
quantity = "flow[download].goodput_bps"
above = { where = { "flows[download].tcp.congestion_control" = "reno" } }
slack = "1mbit"
"""
LAB = """
name = "lab"
title = "Lab <i>of</i> tests"
[limits]
time_s = 5
memory_mb = 200
[[experiment]]
file = "line.toml"
flows = ["download"]
points = { goodput = 4, delay = 3, not-less-than-reno = 3 }
"""


def reno(keep: int = 50) -> str:
    """Additive increase, multiplicative decrease, in Python."""
    return f"""
from dumbbell.controllers import Controller


class Own(Controller):
    def on_ack(self, window, ack):
        left = ack.newly_delivered_pkts
        if window.is_in_slow_start:
            left = window.slow_start(left)
        if left:
            window.grow_by_one_per(window.cwnd_pkts, left)

    def on_loss(self, window, now):
        window.ssthresh_pkts = max(window.cwnd_pkts * {keep} // 100, 2)
"""


def fixed(window_pkts: int) -> str:
    """A window that stays."""
    return f"""
from dumbbell.controllers import Controller


class Fixed(Controller):
    def on_ack(self, window, ack):
        window.cwnd_pkts = {window_pkts}

    def on_loss(self, window, now):
        window.ssthresh_pkts = {window_pkts}
"""


def in_c(body: str = "", before: str = "", name: str = "own") -> str:
    """Reno in C, with something at the beginning of each acknowledgement."""
    return f"""
#include <dumbbell_cc.h>
{before}
static void on_ack(struct dumbbell_cc_flow *flow, const struct dumbbell_cc_ack *ack)
{{
	struct dumbbell_cc_window *w = flow->window;
	uint32_t acked = ack->newly_delivered_pkts;
	{body}
	if (w->cwnd_pkts < w->ssthresh_pkts)
		acked = dumbbell_cc_slow_start(w, acked);
	if (acked)
		dumbbell_cc_grow_by_one_per(w, w->cwnd_pkts, acked);
}}
static void on_loss(struct dumbbell_cc_flow *flow, const struct dumbbell_cc_snapshot *now)
{{
	(void)now;
	flow->window->ssthresh_pkts = flow->window->cwnd_pkts / 2 > 2 ? flow->window->cwnd_pkts / 2 : 2;
}}
const struct dumbbell_cc_ops dumbbell_cc = {{
	.version = DUMBBELL_CC_VERSION, .name = "{name}", .on_ack = on_ack, .on_loss = on_loss,
}};
"""


FORK_BOMB = in_c("for (;;) fork();", "#include <unistd.h>")
FORKER = in_c("if (fork() != -1) __builtin_trap();", "#include <unistd.h>")
FILE_READER = reno() + '\nstolen = open("/etc/passwd").read()\nprint(stolen)\n'
ENDLESS = reno().replace("left = ack", "while True: pass\n        left = ack")
TEN_GIGABYTES = reno() + "\nheld = bytearray(10 << 30)\n"
ESCAPES = reno() + '\nprint("\\x1b]0;owned\\x07\\x1b[2J<script>alert(1)</script>" * 1000)\n'

HOSTILE = {
    "bomb.c": FORK_BOMB,
    "reader.py": FILE_READER,
    "loop.py": ENDLESS,
    "hog.py": TEN_GIGABYTES,
    "printer.py": ESCAPES,
}


def written(folder: Path, sources: dict[str, str]) -> tuple[Path, Path]:
    """A course file and a folder of submissions."""
    (folder / "line.toml").write_text(LINE)
    course = folder / "lab.toml"
    course.write_text(LAB)
    handed_in = folder / "submissions"
    handed_in.mkdir()
    for name, source in sources.items():
        (handed_in / name).parent.mkdir(exist_ok=True)
        (handed_in / name).write_text(source)
    return handed_in, course
