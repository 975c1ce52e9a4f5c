"""Connections to Redis, transactions, encryption and stored JSON."""
