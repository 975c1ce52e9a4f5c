"""Where a repository keeps its configuration: a name that much code needs which reads no configuration.

Does not read it. Invariant: there is no second place.
"""

from typing import Final

PLACE: Final = ".github/assay.yml"
"""In each repository; in the repository DEFAULTS of the same owner it is the default of all of them."""

MISNAMED: Final = ".github/assay.yaml"
"""What it is called by mistake. Nothing reads it."""

CONFIG_PLACES: Final = (PLACE, MISNAMED)
"""What is asked for: the file, and whether it stands where nothing reads it."""

DEFAULTS: Final = ".github"
