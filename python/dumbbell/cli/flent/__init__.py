"""``dumbbell flent``: Flent's tests with Flent's options, without a testbed."""
