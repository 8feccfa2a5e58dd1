"""packetdrill inside the virtual-time kernel, to judge packet scripts.

packetdrill (github.com/google/packetdrill, GPL-2.0) is not part of dumbbell: a user names a
checkout, and it is built once, unchanged, together with a small file of ours (`virtual_time.c`).
"""

from dumbbell.backends.kernel.packetdrill.build import (
    VARIABLE,
    PacketdrillInfo,
    PacketdrillMissingError,
    build_packetdrill,
    find_packetdrill,
    how_to_build_packetdrill,
    require_packetdrill,
)
from dumbbell.backends.kernel.packetdrill.fuzz import DifferenceKind, FuzzedScript, fuzz, shrunk
from dumbbell.backends.kernel.packetdrill.judge import Conditions, judge_scripts

__all__ = [
    "VARIABLE",
    "Conditions",
    "DifferenceKind",
    "FuzzedScript",
    "PacketdrillInfo",
    "PacketdrillMissingError",
    "build_packetdrill",
    "find_packetdrill",
    "fuzz",
    "how_to_build_packetdrill",
    "judge_scripts",
    "require_packetdrill",
    "shrunk",
]
