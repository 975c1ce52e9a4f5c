"""When a pull request is judged: its state, and pure functions from an event to the next state."""
