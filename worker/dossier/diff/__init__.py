"""Read unified diffs."""
