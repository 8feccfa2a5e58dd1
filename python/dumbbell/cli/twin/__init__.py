"""``dumbbell twin`` and ``dumbbell advise``: a model of a real line, and settings for it."""
