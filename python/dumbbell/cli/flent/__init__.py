"""``dumbbell flent``: Flent's tests with Flent's options, and no testbed."""
