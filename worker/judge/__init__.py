"""The court: dossier in, verdict out.

Does no I/O; the one thing it asks from outside is a `Model`. Invariant: it sees the dossier and nothing else.
"""
