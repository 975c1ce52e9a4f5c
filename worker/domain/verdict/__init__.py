"""Types of what the judge says and what is recorded of it."""
