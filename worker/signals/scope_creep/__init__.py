"""Signals for work that nothing asked for: files unrelated to the rest, version bumps, stray files."""
