"""Decide when and how often a pull request is judged."""
