"""``dumbbell shell``: a console in each host of an experiment, in virtual time."""
