"""What the records answer: an installation's stream is aggregated into rollups, and rollups answer questions."""
