"""Turn a webhook payload into an Event and what it asks for."""
