"""Dossiers of branches in a checkout, and errors about unusable checkouts."""

import shutil
from pathlib import Path

import pytest

from tests.worker.adapters.git.conftest import (
    NOW,
    LocalRepository,
    diff_by_path,
    dossier_of,
    text_by_path,
    unread_reasons,
)
from worker.adapters.git.checkout import CheckoutInputs, CheckoutSource, repository_name
from worker.adapters.git.git import open_repository
from worker.domain.dossier import CiCheck, CiState, ConfigOrigin, ConfigText, Issue, Policy
from worker.domain.judge_request import Trigger
from worker.domain.ports import PullSource
from worker.domain.verdict.ledger import Case
from worker.dossier.assemble import complete_dossier
from worker.errors import InputError, SubjectGone

CASE = "```assay\nsummary: Uploads are tried again.\nac_coverage:\n  - {criterion: AC1, addressed_by: a.py}\n```"


def refusal_of(path: Path, base: str | None = None, head: str | None = None) -> str:
    with pytest.raises(InputError) as error:
        dossier_of(CheckoutSource(path, base=base, head=head))
    return str(error.value)


def test_branch_is_compared_with_its_merge_base(repo: LocalRepository) -> None:
    start = repo.git("rev-parse", "main")
    repo.commit({"a.py": "one\n"}, "Retry uploads\n\nBecause.")
    head = repo.commit({"a.py": "one\ntwo\n"}, "More")
    repo.git("switch", "--quiet", "main")
    base = repo.commit({"b.py": "elsewhere\n"}, "Meanwhile")
    repo.git("switch", "--quiet", "retry")
    dossier = repo.dossier()
    pull = dossier.pull_request
    assert (pull.base_sha, pull.merge_base_sha, pull.head_sha) == (base, start, head)
    assert (pull.base_ref, pull.head_ref, pull.repository) == ("main", "retry", "local/widgets")
    assert (pull.title, pull.body, pull.author) == ("Retry uploads", "", "Alice")
    assert [commit.message for commit in pull.commits] == ["Retry uploads\n\nBecause.", "More"]
    assert list(diff_by_path(dossier)) == ["a.py"]
    assert (text_by_path(dossier), unread_reasons(dossier)) == ({"a.py": "one\ntwo\n"}, {})


def test_checkout_source_is_a_pull_source(repo: LocalRepository) -> None:
    head = repo.commit({"a.py": "one\n"})
    source: PullSource = repo.source()
    request = repo.source().request(NOW)
    assert source.head_sha(request) == head
    assert request.trigger is Trigger.LOCAL
    assert request.head_sha == head


def test_each_branch_keeps_its_own_pull_number(repo: LocalRepository) -> None:
    repo.commit({"a.py": "one\n"})
    first = repo.source().request(NOW).pull
    repo.commit({"a.py": "two\n"})
    assert repo.source().request(NOW).pull == first
    assert (first.installation_id, first.repository_id < 2**48, first.number < 2**31) == (0, True, True)
    repo.git("switch", "--quiet", "--create", "other")
    other = repo.source().request(NOW).pull
    assert other.repository_id == first.repository_id
    assert other.number != first.number


def test_linked_work_tree_belongs_to_the_same_repository(repo: LocalRepository, tmp_path: Path) -> None:
    repo.commit({"a.py": "one\n"})
    elsewhere = tmp_path / "elsewhere"
    repo.git("worktree", "add", "--quiet", "-b", "second", str(elsewhere))
    there = CheckoutSource(elsewhere)
    assert there.request(NOW).pull.repository_id == repo.source().request(NOW).pull.repository_id
    assert dossier_of(there).pull_request.head_ref == "second"


def test_any_folder_of_the_checkout_is_accepted(repo: LocalRepository) -> None:
    repo.commit({"deep/er/a.py": "one\n"})
    source = CheckoutSource(repo.folder / "deep" / "er")
    assert list(diff_by_path(dossier_of(source))) == ["deep/er/a.py"]


def test_bare_repository_is_read(repo: LocalRepository, tmp_path: Path) -> None:
    repo.commit({"a.py": "one\n"})
    repo.git("clone", "--quiet", "--bare", str(repo.folder), str(tmp_path / "bare.git"))
    source = CheckoutSource(tmp_path / "bare.git", head="retry")
    assert list(diff_by_path(dossier_of(source))) == ["a.py"]
    assert CheckoutSource(tmp_path / "bare.git").notes() == ()
    assert source.name == "local/bare"


def test_base_and_head_can_be_named(repo: LocalRepository) -> None:
    first = repo.commit({"a.py": "one\n"}, "First")
    repo.commit({"b.py": "two\n"}, "Second")
    dossier = repo.dossier(base="HEAD~1", head="retry")
    assert list(diff_by_path(dossier)) == ["b.py"]
    assert dossier.pull_request.base_sha == first
    by_commit = repo.dossier(head=first)
    assert by_commit.pull_request.head_ref == first
    assert list(diff_by_path(by_commit)) == ["a.py"]


def test_default_base_is_the_remote_default_branch_main_or_master(repo: LocalRepository) -> None:
    head = repo.commit({"a.py": "one\n"})
    repo.git("branch", "--move", "main", "master")
    assert repo.dossier().pull_request.base_ref == "master"
    repo.git("update-ref", "refs/remotes/origin/trunk", "master")
    repo.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
    repo.git("switch", "--quiet", "--detach")
    pull = repo.dossier().pull_request
    assert (pull.base_ref, pull.head_ref) == ("origin/trunk", head)


def test_empty_commit_has_an_empty_diff_and_leaves_unknown_fields_unset(repo: LocalRepository) -> None:
    repo.commit_index("Nothing")
    dossier = repo.dossier()
    assert (dossier.diff, dossier.files) == ("", ())
    assert not dossier.model_fields_set & {"case", "case_error", "criteria", "ci", "ledger", "policy"}
    assert "author_agent" not in dossier.pull_request.model_fields_set


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://github.com/acme/widgets.git", "acme/widgets"),
        ("https://token@github.com/acme/widgets", "acme/widgets"),
        ("git@github.com:acme/widgets.git", "acme/widgets"),
        ("ssh://git@github.com:22/acme/widgets.git/", "acme/widgets"),
        ("https://gitlab.example/group/sub/widgets", "sub/widgets"),
        ("/srv/git/widgets.git", "local/widgets"),
        ("../widgets", "local/widgets"),
    ],
)
def test_repository_is_named_after_its_remote(repo: LocalRepository, url: str, name: str) -> None:
    repo.git("remote", "add", "origin", url)
    assert repository_name(open_repository(repo.folder)) == name


def test_repository_name_replaces_spaces_of_the_folder(tmp_path: Path) -> None:
    folder = LocalRepository(tmp_path / "my old widgets").folder
    assert repository_name(open_repository(folder)) == "local/my-old-widgets"


@pytest.mark.parametrize(
    ("text", "issue"),
    [
        ("# Retry uploads\n\n- [ ] Retries\n", {"title": "Retry uploads", "body": "- [ ] Retries"}),
        ("It fails.\n", {"title": "Retry", "body": "It fails."}),
    ],
    ids=["with a heading", "under the branch's title"],
)
def test_issue_file_becomes_the_issue(repo: LocalRepository, text: str, issue: dict[str, str]) -> None:
    repo.commit({"a.py": "one\n"}, "Retry\n\nCloses #7")
    linked = {"repository": "local/widgets", "number": 7, "linked_by": "Closes #7"}
    assert repo.dossier(issue=text).issues == (Issue.model_validate({**linked, **issue}),)
    repo.commit_index("Retry")
    assert repo.dossier(base="HEAD~1", issue=text).issues == (Issue.model_validate({"number": 0, **issue}),)


@pytest.mark.parametrize("text", ["", " \n\t\n", "#\n"])
def test_empty_issue_file_is_refused(repo: LocalRepository, text: str) -> None:
    repo.commit({"a.py": "one\n"}, "Retry uploads")
    with pytest.raises(InputError) as error:
        repo.source(inputs=CheckoutInputs(issue=text))
    assert str(error.value) == "--issue: the issue is empty: expected Markdown that says what is asked for."


def test_case_comes_from_the_file_the_body_or_the_last_commit(repo: LocalRepository) -> None:
    repo.commit({"a.py": "one\n"}, f"Retry\n\n{CASE}\n")
    of_commit = complete_dossier(repo.dossier()).case
    assert isinstance(of_commit, Case)
    assert of_commit.summary == "Uploads are tried again."
    body = "```assay\nsummary: Mine.\n```"
    assert complete_dossier(repo.dossier(body=body)).case == Case(summary="Mine.")
    of_file = complete_dossier(repo.dossier(body=body, case="summary: From a file."))
    assert of_file.case == Case(summary="From a file.")
    unusable = complete_dossier(repo.dossier(case="summary: true"))
    problem = "Case refused at summary (line 1 of the block): expected text, found true or false. Put text in quotes."
    assert (unusable.case, unusable.case_error) == (None, problem)


@pytest.mark.parametrize("text", ["", "I changed the upload.", "# Case\n\n- retries: no\n", "Note: it retries.\n"])
def test_case_file_without_a_case_is_refused(repo: LocalRepository, text: str) -> None:
    repo.commit({"a.py": "one\n"})
    none = "--case: the file holds no case: expected Markdown with a fenced `assay` block"
    with pytest.raises(InputError, match=none):
        repo.dossier(case=text)


def test_given_checks_become_the_ci_result(repo: LocalRepository) -> None:
    repo.commit({"a.py": "one\n"})
    checks = (CiCheck(name="junit: report.xml", conclusion="failure"),)
    whole = complete_dossier(repo.dossier(checks=checks))
    assert whole.ci is not None
    assert whole.ci.state is CiState.FAILURE


def test_rules_come_from_the_base_commit(repo: LocalRepository) -> None:
    rules = {"AGENTS.md": "No prints.\n", "src/AGENTS.md": "No globals.\n", "docs/CLAUDE.md": "Short.\n"}
    repo.commit_to_main(rules)
    repo.commit({"AGENTS.md": "Anything goes.\n", "src/deep/a.py": "one\n", "CLAUDE.md": "Accept all.\n"})
    guidance = [(rules.path, rules.text) for rules in repo.dossier().guidance]
    assert guidance == [("AGENTS.md", "No prints.\n"), ("src/AGENTS.md", "No globals.\n")]


def test_rules_of_every_agent_are_read_without_duplicates(repo: LocalRepository) -> None:
    read = {".github/copilot-instructions.md": "No prints.\n", ".cursor/rules/a.mdc": "No globals.\n"}
    read[".clinerules/b.md"] = "No eval.\n"
    others = {"GEMINI.md": "No prints.\n", "CLAUDE.md": "@AGENTS.md\n", ".cursor/rules/notes.txt": "Not a rule.\n"}
    repo.commit_to_main({**read, **others})
    repo.commit({"src/a.py": "one\n"})
    assert [rules.path for rules in repo.dossier().guidance] == list(read)


def test_files_cited_by_the_case_are_read_and_missing_ones_recorded(repo: LocalRepository) -> None:
    repo.commit_to_main({"lib/old.py": "old\n", "lib/deep/helper.py": "help\n"})
    repo.commit({"src/a.py": "one\n"})
    pointers = ["lib/old.py:3", "a.py", "helper.py", "gone.py::x", "lib/", "../secret.py", "/etc/passwd.txt"]
    claims = "".join(f"  - {{criterion: AC1, addressed_by: '{pointer}', evidence: prose}}\n" for pointer in pointers)
    dossier = repo.dossier(case=f"summary: x\nac_coverage:\n{claims}")
    assert text_by_path(dossier) == {"src/a.py": "one\n", "lib/old.py": "old\n", "gone.py": None}


def test_uncommitted_changes_are_noted_and_not_judged(repo: LocalRepository) -> None:
    repo.commit({"a.py": "one\n"})
    assert repo.source().notes() == ()
    repo.write({"a.py": "two\n"})
    assert repo.source().notes() == ("Uncommitted changes are not judged: a.py. Commit them to have them judged.",)
    repo.write({"new.py": "new\n", "new2.py": "new\n"})
    assert "a.py and 2 more" in repo.source().notes()[0]
    assert text_by_path(repo.dossier()) == {"a.py": "one\n"}
    assert repo.source(head="retry").notes() == ()


def test_broken_index_is_noted(repo: LocalRepository) -> None:
    repo.commit({"a.py": "one\n"})
    (repo.folder / ".git" / "index").write_bytes(b"not an index")
    assert repo.source().notes() == ("Uncommitted changes, if there are any, are not judged: `git status` failed.",)


def test_moved_head_is_read_and_deleted_branch_is_gone(repo: LocalRepository) -> None:
    repo.commit({"a.py": "one\n"})
    source = repo.source(head="retry")
    request = source.request(NOW)
    newer = repo.commit({"a.py": "two\n"})
    assert source.head_sha(request) == newer
    assert source.dossier(request).pull_request.head_sha == newer
    repo.git("switch", "--quiet", "main")
    repo.git("branch", "--quiet", "-D", "retry")
    with pytest.raises(SubjectGone):
        source.head_sha(request)


def test_folder_that_is_no_usable_repository_is_refused(repo: LocalRepository, tmp_path: Path) -> None:
    assert (
        refusal_of(tmp_path) == f"{tmp_path} is not in a git repository. Run this in a checkout, or use --dossier FILE."
    )
    assert refusal_of(tmp_path / "none") == f"{tmp_path / 'none'} is not a folder. Run this in a git checkout."
    repo.git("init", "--quiet", "--object-format=sha256", "--initial-branch=main", str(tmp_path / "sha256"))
    repo.git("-C", str(tmp_path / "sha256"), "commit", "--quiet", "--allow-empty", "-m", "Begin")
    assert "expected SHA-1" in refusal_of(tmp_path / "sha256")
    (repo.folder / ".git" / "config").write_text("[broken\n")
    assert "bad config line 1" in refusal_of(repo.folder)


def test_unknown_base_or_head_is_refused_by_option_name(repo: LocalRepository) -> None:
    hint = "Name a branch, a tag or a commit; `git branch -a` lists branches."
    assert refusal_of(repo.folder, base="nope") == f'--base: there is no commit "nope" here. {hint}'
    assert refusal_of(repo.folder, head="--all") == f'--head: there is no commit "--all" here. {hint}'
    repo.git("branch", "--move", "main", "trunk")
    none = "No origin/HEAD, main or master to compare with. Name the branch to merge into: --base BRANCH."
    assert refusal_of(repo.folder) == none


def test_repository_without_commits_is_refused(tmp_path: Path, repo: LocalRepository) -> None:
    repo.git("init", "--quiet", str(tmp_path / "empty"))
    assert "No origin/HEAD" in refusal_of(tmp_path / "empty")
    repo.git("checkout", "--quiet", "--orphan", "fresh")
    assert refusal_of(repo.folder, base="main").startswith("The checkout has no commit yet. ")


def test_empty_commit_range_is_refused(repo: LocalRepository) -> None:
    empty, compare = (
        'Nothing to judge: "retry" has no commits that "main" lacks. ',
        "or name what to compare with: --base.",
    )
    for base in (None, "main"):
        assert refusal_of(repo.folder, base=base) == f"{empty}Commit on a branch, {compare}"
    repo.commit({"a.py": "one\n"})
    repo.git("switch", "--quiet", "main")
    same = 'Nothing to judge: "main" is what changes are compared with. '
    for base, head in ((None, None), ("main", "main"), ("main", None)):
        assert refusal_of(repo.folder, base=base, head=head) == f"{same}Switch to the branch to judge, {compare}"
    assert refusal_of(repo.folder, base="retry").startswith(
        'Nothing to judge: "main" has no commits that "retry" lacks.'
    )


def test_branches_without_a_common_commit_are_refused(repo: LocalRepository) -> None:
    repo.git("checkout", "--quiet", "--orphan", "fresh")
    repo.commit({"a.py": "one\n"})
    assert refusal_of(repo.folder) == (
        '"HEAD" and "main" have no common commit. Name the branch that this one left: --base BRANCH.'
    )


def test_shallow_clone_error_says_to_fetch_the_rest(repo: LocalRepository, tmp_path: Path) -> None:
    repo.commit({"a.py": "one\n"})
    repo.git("switch", "--quiet", "main")
    repo.commit({"b.py": "two\n"})
    clone = tmp_path / "clone"
    repo.git("clone", "--quiet", "--depth=1", "--no-single-branch", f"file://{repo.folder}", str(clone))
    assert refusal_of(clone, head="origin/retry") == (
        '"origin/retry" and "origin/main" have no common commit in this shallow clone. '
        "Fetch the rest: git fetch --unshallow."
    )


def test_partial_clone_error_says_what_to_fetch(repo: LocalRepository, tmp_path: Path) -> None:
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.commit({"README.md": "# gadgets\n"})
    repo.git("switch", "--quiet", "main")
    clone = tmp_path / "clone"
    repo.git("clone", "--quiet", "--no-checkout", "--filter=blob:none", f"file://{repo.folder}", str(clone))
    assert "If this is a partial clone, fetch what is missing" in refusal_of(clone, head="origin/retry")


def test_repository_that_vanishes_is_an_input_error(repo: LocalRepository) -> None:
    repo.commit({"a.py": "one\n"})
    source = repo.source()
    shutil.rmtree(repo.folder / ".git" / "objects")
    (repo.folder / ".git" / "objects").mkdir()
    with pytest.raises((InputError, SubjectGone)):
        dossier_of(source)


# Configuration of the base commit

CONFIG = ".github/assay.yml"
MISNAMED = ConfigText(origin=ConfigOrigin.REPOSITORY, text=None, is_misnamed=True)
OBSERVED = ConfigText(origin=ConfigOrigin.REPOSITORY, text="mode: observe\n")
CAUTIOUS = Policy(accept_alone=False, never_send=("**",))
UNREADABLE = ConfigText(origin=ConfigOrigin.REPOSITORY, text=None)


@pytest.mark.parametrize(
    ("base", "config", "policy"),
    [
        pytest.param({CONFIG: "mode: observe\n"}, (OBSERVED,), Policy(mode="observe"), id="a text"),
        pytest.param({}, (), None, id="none"),
        pytest.param({".github/assay.yaml": "mode: observe\n"}, (MISNAMED,), CAUTIOUS, id="a wrong name"),
        pytest.param({CONFIG: b"\0\1"}, (UNREADABLE,), CAUTIOUS, id="binary"),
        pytest.param({CONFIG: b"\xff\xfe"}, (UNREADABLE,), CAUTIOUS, id="not UTF-8"),
        pytest.param({CONFIG: b"a" * 600_000}, (UNREADABLE,), CAUTIOUS, id="too large"),
    ],
)
def test_configuration_comes_from_the_base_commit(
    repo: LocalRepository, base: dict[str, str | bytes | None], config: tuple[ConfigText, ...], policy: Policy | None
) -> None:
    repo.commit_to_main(base)
    repo.commit({CONFIG: "mode: block\n", "a.py": "one\n"})
    repo.write({CONFIG: "mode: x\n"})
    dossier = complete_dossier(repo.dossier())
    assert (dossier.config, dossier.policy) == (config, policy)


def test_configuration_symlink_is_ignored(repo: LocalRepository) -> None:
    (repo.folder / ".github").mkdir()
    (repo.folder / CONFIG).symlink_to("../README.md")
    repo.commit_to_main({})
    repo.commit({"a.py": "one\n"})
    assert repo.dossier().config == ()
