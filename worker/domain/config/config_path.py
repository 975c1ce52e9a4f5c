"""Where a repository keeps its configuration: a name that much code needs which reads no configuration.

Does not read it. Invariant: there is no second place.
"""

from typing import Final

CONFIG_PATH: Final = ".github/assay.yml"
"""In each repository; in the repository DEFAULTS of the same owner it is the default of all of them."""

MISNAMED_CONFIG_PATH: Final = ".github/assay.yaml"
"""What it is called by mistake. Nothing reads it."""

CONFIG_PATHS: Final = (CONFIG_PATH, MISNAMED_CONFIG_PATH)
"""What is asked for: the file, and whether it stands where nothing reads it."""

DEFAULTS_REPOSITORY: Final = ".github"
