"""``dumbbell reproduce`` and ``dumbbell studies``: published experiments."""
