"""Show verdicts on GitHub: check runs, comments, review requests, code scanning."""
