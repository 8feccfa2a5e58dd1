"""``dumbbell judge``: evidence on a congestion controller by the sections of RFC 9743."""
