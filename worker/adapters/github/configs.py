"""`.github/assay.yml` out of GitHub's answers.

Does not read what stands in it. Invariant: a file that is there is handed on, also where it can't be read as text; a folder of
that name, or a repository that we may not see, is no file.
"""

from worker.adapters.github.responses import BlobResponse
from worker.domain.config.config_path import DEFAULTS_REPOSITORY
from worker.domain.dossier.dossier import ConfigOrigin, ConfigText
from worker.domain.ids import RepositoryName


def may_have_default(repository: RepositoryName) -> bool:
    """Whether its owner's default may hold for it; in the repository of the defaults itself the file is its own."""
    return repository.rpartition("/")[2] != DEFAULTS_REPOSITORY


def config_texts(
    own: BlobResponse | None, default: BlobResponse | None, misnamed: BlobResponse | None = None
) -> tuple[ConfigText, ...]:
    """The files that are there, the repository's own first. *misnamed*: what stands under the wrong name."""
    sources = ((ConfigOrigin.REPOSITORY, own), (ConfigOrigin.ORGANISATION, default))
    texts = [ConfigText(origin=origin, text=text_of(blob)) for origin, blob in sources if blob and is_file(blob)]
    if misnamed and is_file(misnamed) and not (own and is_file(own)):
        texts.insert(0, ConfigText(origin=ConfigOrigin.REPOSITORY, text=None, is_misnamed=True))
    return tuple(texts)


def is_file(blob: BlobResponse) -> bool:
    return blob.is_binary is not None or blob.text is not None


def text_of(blob: BlobResponse) -> str | None:
    return None if blob.is_binary or blob.is_truncated else blob.text
