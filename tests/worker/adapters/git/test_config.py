"""`.github/assay.yml` of a checkout: the base commit's, whatever the branch or the work tree says."""

import pytest

from tests.worker.adapters.git.laptop import Laptop
from worker.domain.dossier import ConfigOrigin, ConfigText, Policy
from worker.dossier.assemble import complete_dossier

PLACE = ".github/assay.yml"


def on_main(laptop: Laptop, text: str | bytes) -> None:
    laptop.git("switch", "--quiet", "main")
    laptop.commits({PLACE: text}, "Configure")
    laptop.git("switch", "--quiet", "--create", "later")


def test_the_base_commits_file_decides(laptop: Laptop) -> None:
    on_main(laptop, "mode: observe\n")
    laptop.commits({PLACE: "mode: block\n", "a.py": "one\n"})
    laptop.writes({PLACE: "mode: x\n"})
    dossier = complete_dossier(laptop.dossier())
    assert dossier.config == (ConfigText(origin=ConfigOrigin.REPOSITORY, text="mode: observe\n"),)
    assert dossier.policy == Policy(mode="observe")


def test_without_a_file_there_is_no_policy(laptop: Laptop) -> None:
    laptop.commits({PLACE: "mode: observe\n"})
    dossier = complete_dossier(laptop.dossier())
    assert (dossier.config, dossier.policy) == ((), None)


@pytest.mark.parametrize("content", [b"\0\1", b"\xff\xfe", b"a" * 600_000])
def test_what_is_no_text_is_there_all_the_same(laptop: Laptop, content: bytes) -> None:
    on_main(laptop, content)
    laptop.commits({"a.py": "one\n"})
    assert [one.text for one in laptop.dossier().config] == [None]


def test_a_file_under_the_wrong_name_is_told_and_not_read(laptop: Laptop) -> None:
    laptop.git("switch", "--quiet", "main")
    laptop.commits({".github/assay.yaml": "mode: observe\n"}, "Configure")
    laptop.git("switch", "--quiet", "--create", "later")
    laptop.commits({"a.py": "one\n"})
    dossier = complete_dossier(laptop.dossier())
    assert dossier.config == (ConfigText(origin=ConfigOrigin.REPOSITORY, text=None, is_misnamed=True),)
    assert dossier.policy == Policy(accept_alone=False, never_send=("**",))


def test_a_link_is_no_file(laptop: Laptop) -> None:
    laptop.git("switch", "--quiet", "main")
    (laptop.folder / ".github").mkdir()
    (laptop.folder / PLACE).symlink_to("../README.md")
    laptop.git("add", "--all")
    laptop.commits_index("Link")
    laptop.git("switch", "--quiet", "--create", "later")
    laptop.commits({"a.py": "one\n"})
    assert laptop.dossier().config == ()
