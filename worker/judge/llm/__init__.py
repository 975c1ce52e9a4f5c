"""What of a change a model gets to read: which lines first, and how much of it.

Imported only on the way over a model. Does not fence and asks nobody. Invariant: linear in the change, bounded in what is
kept of it, and every changed path is read, partly read or unread, never two of them.
"""
