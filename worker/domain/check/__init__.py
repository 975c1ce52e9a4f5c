"""Types of what GitHub shows of a verdict."""
