"""Compose the processes and commands from settings and adapters."""
