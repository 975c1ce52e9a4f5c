"""Signals for work that stops half-way: stubs, empty bodies, code that nothing calls, leftovers."""
