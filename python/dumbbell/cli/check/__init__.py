"""``dumbbell check``: claims of one's own judged, and a folder of somebody's run again."""
