"""What code may accept alone: an allow-list of harmless changes. Titles are not read."""
