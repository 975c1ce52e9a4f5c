"""`.github/assay.yml` at the base commit of a checkout.

Does not read what stands in it. Invariant: only the base commit's file counts; the owner's default is not here, and that is
no mistake.
"""

from worker.adapters.git.changes import entries_at, texts_of
from worker.adapters.git.git import GitRepository
from worker.domain.config.config_path import CONFIG_PATH, CONFIG_PATHS
from worker.domain.dossier.dossier import ConfigOrigin, ConfigText
from worker.domain.ids import Sha


def config_at(repository: GitRepository, base: Sha) -> tuple[ConfigText, ...]:
    """The file, if it is there; without its text where it is none."""
    entries = {
        path: entry
        for path, entry in entries_at(repository, base, CONFIG_PATHS).items()
        if entry.mode.startswith("100")
    }
    entry = entries.get(CONFIG_PATH)
    if entry is None:
        return (ConfigText(origin=ConfigOrigin.REPOSITORY, text=None, is_misnamed=True),) if entries else ()
    texts = texts_of(repository, [(CONFIG_PATH, entry.name)]).files
    return (ConfigText(origin=ConfigOrigin.REPOSITORY, text=texts[0].text if texts else None),)
