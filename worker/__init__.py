"""The court: assemble, judge, record, publish. Knows nothing of the web. Invariant: stages know ports, never an SDK."""
