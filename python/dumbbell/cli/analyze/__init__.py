"""``dumbbell analyze``: what measurements say, and simulated runs beside them."""
