"""What is kept of verdicts, events and people."""
