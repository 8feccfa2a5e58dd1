"""``dumbbell twin`` and ``dumbbell advise``: the model of a real line, and what to set on it."""
