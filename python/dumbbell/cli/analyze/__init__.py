"""``dumbbell analyze``: evaluate measurements, and compare them with simulated runs."""
