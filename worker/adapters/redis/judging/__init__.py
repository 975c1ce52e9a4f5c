"""State and queues of what is judged."""
