"""The Linux kernel in virtual time: its build, its cache, and the launcher of guests.

User-Mode Linux with time travel is an ordinary program: the guest's clock jumps to the next timer
when the guest is idle and stands still while it computes.
"""

from dumbbell.backends.kernel.cache import (
    KernelInfo,
    KernelMissingError,
    find_kernel,
    require_kernel,
)
from dumbbell.backends.kernel.launch import EPOCH_NS, HostRefusesError, LaunchResult, launch

__all__ = [
    "EPOCH_NS",
    "HostRefusesError",
    "KernelInfo",
    "KernelMissingError",
    "LaunchResult",
    "find_kernel",
    "launch",
    "require_kernel",
]
