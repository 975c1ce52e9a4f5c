"""Implement the ports of `worker.domain.ports`, one SDK per folder."""
