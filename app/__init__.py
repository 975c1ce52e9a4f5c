"""The doors: HTTP and the command line. No judging. Invariant: the web process loads no SDK but litestar and redis."""
