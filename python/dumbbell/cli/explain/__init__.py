"""``dumbbell explain``."""
