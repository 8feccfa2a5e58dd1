"""``dumbbell kernel``: the real Linux kernel in virtual time."""
