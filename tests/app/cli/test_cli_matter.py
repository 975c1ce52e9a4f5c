import argparse
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from app.cli.judge_inputs import open_judge_inputs, parse_pull_request, web_host
from app.cli.parser import build_parser
from tests.worker.publishing.texts.samples import dossier
from worker.clock import SystemClock
from worker.errors import InputError
from worker.settings import Settings

GITHUB = "https://api.github.com"
ENTERPRISE = "https://ghe.example/api/v3"


def arguments(*given: str) -> argparse.Namespace:
    return build_parser().parse_args(["judge", *given])


def complaint(*given: str) -> str:
    with (
        pytest.raises(InputError) as caught,
        open_judge_inputs(arguments(*given), Settings(data_dir=Path()), SystemClock()),
    ):
        pass
    return str(caught.value)


@pytest.mark.parametrize(
    ("target", "api_url"),
    [
        ("acme/wid.gets-2#12", GITHUB),
        ("https://github.com/acme/wid.gets-2/pull/12", GITHUB),
        ("https://www.github.com/acme/wid.gets-2/pull/12/files#diff-1", GITHUB),
        ("https://ghe.example/acme/wid.gets-2/pull/12?w=1", ENTERPRISE),
    ],
)
def test_a_pull_request_is_named_in_short_or_by_its_page(target: str, api_url: str) -> None:
    assert parse_pull_request(target, api_url) == ("acme/wid.gets-2", 12)


@pytest.mark.parametrize(
    "target", ["12", "acme#12", "acme/widgets", "acme/widgets#0", "acme/widgets#x", "ftp://github.com/a/b/pull/1",
               "https://github.com/acme/widgets/issues/12", "https://github.com/acme/widgets/pull/12x"],
)  # fmt: skip
def test_what_names_no_pull_request_is_refused_by_example(target: str) -> None:
    with pytest.raises(InputError, match=r"is no pull request\. Expected: OWNER/REPO#12 or"):
        parse_pull_request(target, GITHUB)


def test_a_page_of_another_github_is_refused_with_the_setting_to_change() -> None:
    with pytest.raises(InputError) as caught:
        parse_pull_request("https://github.com/acme/widgets/pull/12", ENTERPRISE)
    assert str(caught.value) == snapshot(
        "github.com is not the GitHub that is set up here (ghe.example). Set ASSAY_GITHUB_API_URL to its API."
    )
    assert web_host(GITHUB) == "github.com"
    assert web_host("https://api.acme.ghe.com") == "acme.ghe.com"


@pytest.mark.parametrize("option", ["base", "head", "issue", "case", "body", "junit"])
@pytest.mark.parametrize("what", [("acme/widgets#1",), ("--dossier", "x"), ("--example",)])
def test_options_of_a_checkout_are_refused_beside_anything_else(option: str, what: tuple[str, ...]) -> None:
    assert complaint(*what, f"--{option}", "x").startswith(f"--{option} belongs to a checkout")


def test_a_file_that_is_not_there_is_named_with_its_option(tmp_path: Path) -> None:
    assert complaint("--dossier", "/nowhere.json") == snapshot(
        "--dossier: /nowhere.json can't be read: No such file or directory."
    )
    assert complaint("--issue", str(tmp_path)).endswith("can't be read: Is a directory.")
    assert complaint("--junit", "/nowhere.xml").startswith("--junit: ")


def test_a_file_that_is_not_utf_8_is_refused_at_its_byte(tmp_path: Path) -> None:
    (tmp_path / "issue.md").write_bytes(b"caf\xe9")
    assert "is not UTF-8 at byte 3" in complaint("--issue", str(tmp_path / "issue.md"))


def test_a_recorded_dossier_is_read_and_its_first_error_named(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_text(dossier().model_dump_json(exclude_unset=True))
    with open_judge_inputs(arguments("--dossier", str(path)), Settings(data_dir=Path()), SystemClock()) as matter:
        assert matter.request.pull.number == 12
        assert matter.notes == ()
    path.write_text('{"pull_request": 1}')
    assert "Dossier refused at pull_request" in complaint("--dossier", str(path))
