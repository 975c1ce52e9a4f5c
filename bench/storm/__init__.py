"""A storm over the whole product: what people do, what dies, and what must hold at the end (`bench/chaos.py`)."""
