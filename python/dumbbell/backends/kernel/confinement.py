"""What a guest may read and write of the host's files, and by what it is held to that.

A guest's root is the host's (hostfs), and inside it is root: it can mount all of it again. So the
kernel itself, a process like any other, is restricted from outside before it begins, by the
program that later is its process 1 (guest/src/confine.rs). What this machine offers is found out
by trying, the first of

1. Landlock (landlock(7); Linux 5.13 and newer, where it is switched on),
2. a mount namespace (mount_namespaces(7); needs root, or user namespaces),
3. nothing: the guest then reads and writes whatever its user may.
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
"""The system's programs, libraries and tables, which everybody may read: for guests that are a
script."""

_ASK_TIMEOUT_S = 20


class ConfinementMethod(enum.StrEnum):
    """By what a guest is held to its files."""

    LANDLOCK = "landlock"
    MOUNT_NAMESPACE = "mount-namespace"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A means that this machine does not offer.

    Attributes:
        means: Which.
        why: What was tried, and what the host said.
    """

    means: ConfinementMethod
    why: str


@dataclass(frozen=True, slots=True)
class Confinement:
    """How guests are confined on this machine.

    Attributes:
        means: By what.
        landlock_version: Which version of Landlock at most; the machine's when None.
        refused: The better means, and why they are not to be had.
    """

    means: ConfinementMethod
    landlock_version: int | None = None
    refused: tuple[Refusal, ...] = ()

    def __str__(self) -> str:
        """In a sentence."""
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
        """The command that runs another one, held to its files.

        Args:
            command: A program by its path, and its arguments.
            readable: Files, and folders with all that is in them, besides the program; those that
                are not there are left out.
            folder: The one that it may write to.
            failure_fd: Descriptor to which is written why the program could not be begun; it is
                closed when it has.

        Raises:
            GuestMissingError: The program that confines has not been built.
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
    """The first means that works on this machine; asked once.

    Raises:
        GuestMissingError: The program that confines has not been built.
        RunError: It does not run here.
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
