"""Confine a guest: which of the host's files it may read and write, and how this is enforced.

The guest's root file system is the host's (hostfs), and root inside the guest could mount all of
it. Therefore the kernel itself, an ordinary process, is restricted from outside before it starts,
by the program that later becomes its process 1 (guest/src/confine.rs). The first method that works
on this machine is used:

1. Landlock (landlock(7); Linux 5.13 and newer, where it is switched on),
2. a mount namespace (mount_namespaces(7); needs root, or user namespaces),
3. none: the guest can then read and write whatever its user can.
"""

from __future__ import annotations

import enum
import functools
import json
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dumbbell.backends.kernel.guest import guest_program
from dumbbell.errors import RunError

SYSTEM = tuple(
    Path(place)
    for place in (
        *("/bin", "/sbin", "/lib", "/lib64", "/usr"),
        *("/etc/alternatives", "/etc/iproute2", "/etc/ld.so.cache", "/etc/localtime"),
        *("/etc/group", "/etc/hosts", "/etc/nsswitch.conf", "/etc/passwd"),
        *("/etc/protocols", "/etc/services"),
    )
)
"""Programs, libraries and tables of the system that everybody may read; for guests that run a
script.
"""

_ASK_TIMEOUT_S = 20


class ConfinementMethod(enum.StrEnum):
    """How a guest is confined to its files."""

    LANDLOCK = "landlock"
    MOUNT_NAMESPACE = "mount-namespace"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A method that is not available on this machine.

    Attributes:
        means: The method.
        why: The operation that was tried, and its error.
    """

    means: ConfinementMethod
    why: str


@dataclass(frozen=True, slots=True)
class Confinement:
    """How guests are confined on this machine.

    Attributes:
        means: The method in use.
        landlock_version: Highest version of Landlock to use; the machine's when None.
        refused: The better methods, and why they are not available.
    """

    means: ConfinementMethod
    landlock_version: int | None = None
    refused: tuple[Refusal, ...] = ()

    def __str__(self) -> str:
        """As a sentence."""
        held = "a guest reads its programs and writes to its own folder only"
        if self.means is ConfinementMethod.LANDLOCK:
            return f"Landlock, version {self.landlock_version}: {held}"
        reasons = "; ".join(refusal.why for refusal in self.refused)
        if self.means is ConfinementMethod.MOUNT_NAMESPACE:
            return f"a mount namespace: {held} ({reasons})"
        return (
            f"nothing: a guest reads and writes whatever you may ({reasons}). Landlock "
            "(lsm=landlock on the host's command line) or user namespaces would prevent it"
        )

    def confined(
        self,
        command: Sequence[str],
        *,
        readable: Iterable[Path],
        folder: Path,
        failure_fd: int | None = None,
    ) -> list[str]:
        """The command that runs another command confined to its files.

        Args:
            command: A program by its path, and its arguments.
            readable: Files and folders (with all contents) that it may read besides the program;
                missing ones are ignored.
            folder: Folder that it may write to.
            failure_fd: Descriptor to which a failure to start is written; closed on success.

        Raises:
            GuestMissingError: The confining program has not been built.
        """
        wanted = {
            "means": self.means,
            "readable": [command[0], *map(str, readable)],
            "folder": str(folder),
            "failure_fd": failure_fd,
            "landlock_version": self.landlock_version,
        }
        return [str(guest_program()), "confine", json.dumps(wanted, ensure_ascii=False), *command]


def best_confinement() -> Confinement:
    """The best method that works on this machine; determined once.

    Raises:
        GuestMissingError: The confining program has not been built.
        RunError: The confining program does not run here.
    """
    program = guest_program()
    return _asked(program, program.stat().st_mtime_ns)


@functools.lru_cache(maxsize=4)
def _asked(program: Path, changed_ns: int) -> Confinement:
    command = [str(program), "confine", "ask"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=_ASK_TIMEOUT_S
        )
        answer = json.loads(done.stdout)
        refused = [
            Refusal(ConfinementMethod(each["means"]), each["why"]) for each in answer["refused"]
        ]
        return Confinement(
            ConfinementMethod(answer["means"]), answer["landlock_version"], tuple(refused)
        )
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{program} does not say how guests are confined here: {error}") from error
