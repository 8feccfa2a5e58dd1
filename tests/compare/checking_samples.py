"""A home line with claims, as a file and run."""

from __future__ import annotations

from pathlib import Path

from dumbbell.compare.checking import Checked, asserted, check
from small_networks import home_line

JITTER = 'start_jitter = "200ms"'
LINE = home_line("4s", warm_up="1s", downloads=3)
QDISC = "links[isp->home].forward.qdisc"


def written(folder: Path, claims: str, *, jitter: str = JITTER) -> Path:
    file = folder / "line.toml"
    file.write_text(LINE.replace(JITTER, jitter) + claims)
    return file


def claim(text: str) -> str:
    return f'[[claim]]\nstatement = "It is so"\n{text}\n'


def run(folder: Path, text: str, replications: int = 4) -> Checked:
    return check(asserted(written(folder, claim(text))), replications=replications)
