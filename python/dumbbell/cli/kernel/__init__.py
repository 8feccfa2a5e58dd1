"""``dumbbell kernel``: the Linux kernel in virtual time."""
