"""The embedded server of a data folder."""
