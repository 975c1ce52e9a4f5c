"""Types of opinions and verdicts, and of their records."""
