"""The Anthropic model behind the Model port, its prices and the budget of its requests. The only importer of the SDK."""
