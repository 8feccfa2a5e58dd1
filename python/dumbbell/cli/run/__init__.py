"""``dumbbell run``: a single run, or a comparison."""
