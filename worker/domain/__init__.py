"""Define the immutable types and the ports that every room uses."""
