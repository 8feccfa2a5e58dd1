"""``dumbbell packetdrill``: packetdrill's scripts against TCP."""
