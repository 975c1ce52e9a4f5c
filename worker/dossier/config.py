"""What counts where a `.github/assay.yml` has a mistake: the last one at the same base without any.

Does not read the files (`worker.dossier.config_file` does) and does not fetch them. Invariant: a mistake in a file stops no judging,
a file that can be used counts as it is, and none counts for pull requests into another branch.
"""

from datetime import timedelta

from worker.domain.config.config import RepositoryConfig
from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import hash_base
from worker.domain.ports import LastGoodConfigs
from worker.domain.request.judge_request import PullRef
from worker.dossier.config_file import read_config, resolve_config


def with_last_good(dossier: Dossier, pull: PullRef, configs: LastGoodConfigs) -> Dossier:
    """Put the last good text beside each with a mistake, remember those without, and tell the door. Raises Unavailable."""
    broken = {text.origin for text in dossier.config if text.is_misnamed or read_config(text.text).problems}
    good = {text.origin: text.text for text in dossier.config if text.origin not in broken and text.text is not None}
    base = hash_base(dossier.pull_request.base_ref)
    before = configs.exchange(pull, base, good, broken)
    if before:
        texts = [text.model_copy(update={"last_good": before.get(text.origin)}) for text in dossier.config]
        dossier = dossier.model_copy(update={"config": tuple(texts)})
    configs.store_quiet_window(pull, base, config_of(dossier).quiet_window)
    return dossier


def config_of(dossier: Dossier) -> RepositoryConfig:
    """What steers the judging of this pull request; its policy stands in the dossier by itself."""
    return resolve_config(dossier.config).config


def ci_wait(dossier: Dossier, longest: timedelta) -> timedelta | None:
    """How long this repository waits for CI, at most *longest*; None: as the operator set it."""
    chosen = config_of(dossier).ci_wait
    return None if chosen is None else min(timedelta(seconds=chosen), longest)
