"""``dumbbell packetdrill``: run packetdrill scripts against TCP."""
