"""How many examples the default suite draws of each property: CI draws twice as many beside it."""

from hypothesis import settings

settings.register_profile("quick", max_examples=50)
