"""Serve HTTP: webhooks, the API, health, metrics and the set-up pages."""
