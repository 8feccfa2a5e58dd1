"""``dumbbell check``: judge a user's own claims, or repeat the check of a folder."""
