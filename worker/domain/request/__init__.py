"""Types of requests to judge, and of the events that lead to them."""
