"""The shell's message for a program that the machine lacks: which package to install."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from dumbbell.spec.programs import MODELS

VARIABLE = "BASH_FUNC_command_not_found_handle%%"
"""Name under which Bash imports the function from the environment (bash(1), COMMAND EXECUTION)."""

_OTHERS = {
    "d-itg": "ITGLog ITGManager",
    "ethtool": "ethtool",
    "fping": "fping",
    "gawk": "gawk",
    "gnuplot-nox": "gnuplot",
    "hping3": "hping3",
    "iproute2": "ip ss tc nstat",
    "iptables": "iptables nft",
    "irtt": "irtt",
    "mtr-tiny": "mtr",
    "net-tools": "ifconfig route netstat arp",
    "netcat-openbsd": "nc",
    "netperf, of its section non-free": "netperf netserver",
    "procps": "ps top pgrep pkill watch",
    "psmisc": "killall",
    "python3": "python3",
    "r-base-core": "R Rscript",
    "socat": "socat",
    "traceroute": "traceroute",
    "tshark": "dumpcap capinfos",
}


def packages() -> Mapping[str, str]:
    """Programs of a testbed, and Debian's package of each."""
    tools = (tool for model in MODELS.values() for tool in model.TOOLS)
    found = {tool.name: tool.package for tool in tools if tool.package}
    others = {name: package for package, names in _OTHERS.items() for name in names.split()}
    return MappingProxyType(dict(sorted((others | found).items())))


def function() -> str:
    """Value of `VARIABLE`."""
    by_package: dict[str, list[str]] = {}
    for name, package in packages().items():
        by_package.setdefault(package, []).append(name)
    cases = " ".join(f"{'|'.join(names)}) p='{package}';;" for package, names in by_package.items())
    return (
        '() { local p=; case "$1" in ' + cases + " esac; "
        "printf 'bash: %s: command not found%s\\n' \"$1\" "
        '"${p:+; this machine does not have it (Debian: apt-get install $p)}" >&2; return 127; }'
    )
