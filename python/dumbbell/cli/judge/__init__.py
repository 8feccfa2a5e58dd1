"""``dumbbell judge``: a congestion controller's evidence by the sections of RFC 9743."""
