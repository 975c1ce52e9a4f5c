"""Everything that is kept in Redis, and the private server that keeps it where none is configured.

Does not judge. Invariant: what crosses this room's edge is ours: domain values in and out, and errors of
`worker.errors`.
"""
