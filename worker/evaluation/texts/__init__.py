"""Texts about re-evaluation and statistics, pure."""
