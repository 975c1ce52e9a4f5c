"""The request to the model and its reply. Loaded only when a model is asked."""
