"""Types of what a repository and its operator set."""
