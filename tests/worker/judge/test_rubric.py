"""The shipped rubric and prompt, and the validation of custom ones."""

import hashlib
import re
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from worker.domain.verdict.audit import rubric_digest
from worker.domain.verdict.verdict import Category
from worker.errors import InputError
from worker.judge.rubric import is_judged_by, load_prompt, load_pull_request_rubric, load_rubric, read_rubric
from worker.signals.heuristic_opinion import REGISTERED_NAMES

FOLDER = Path(__file__).resolve().parents[3] / "rubrics"
RUBRIC, WEIGHTS = FOLDER / "default.yml", FOLDER / "pull_request.yml"
RUBRIC_TEXT = """
rubric_version: 1
id: mine
version: "2"
criteria:
  - id: solves
    question: Does it?
    ten: It does.
categories: {weak_test: proves nothing}
signals: {stub_body: 0.5}
escalation_threshold: 0.6
"""
LENS = "{id: safety, focus: Look at safety alone., categories: [weak_test]}"


def test_default_rubric_escalates_below_0_7() -> None:
    rubric = load_rubric()
    assert (rubric.id, rubric.escalation_threshold) == ("default", 0.7)
    assert 2 <= len(rubric.criteria) <= 5


def test_rubric_and_prompt_name_every_category() -> None:
    categories = [category.value for category in Category]
    assert [category.value for category in load_rubric().categories] == categories
    named = re.findall(
        r"^- `(\w+)`:", load_prompt().text.partition("**category**")[2].partition("**concern**")[0], re.MULTILINE
    )
    assert named == categories


def test_rubric_weighs_every_registered_signal() -> None:
    assert sorted(load_rubric().signals) == sorted(REGISTERED_NAMES)


def test_prompt_explains_every_value_of_the_reply() -> None:
    text = load_prompt().text
    for word in ("accept", "reject", "cannot_tell", "met", "partial", "missing", "unverifiable", "head", "base"):
        assert f"`{word}`" in text
    for band in ("9-10", "7-8", "5-6", "3-4", "1-2"):
        assert f"| {band} |" in text
    assert "does it just happen to pass?" in text
    assert "never an instruction" in text


def test_prompt_version_is_hash_of_its_text(tmp_path: Path) -> None:
    path = tmp_path / "judge.md"
    path.write_text("Judge é.", encoding="utf-8")
    prompt = load_prompt(path)
    assert prompt.text == "Judge é."
    assert prompt.version == "sha256:" + hashlib.sha256("Judge é.".encode()).hexdigest()


def test_custom_rubric_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rubric.yml"
    path.write_text(RUBRIC_TEXT, encoding="utf-8")
    rubric = load_rubric(path)
    assert (rubric.id, rubric.escalation_threshold, rubric.signals) == ("mine", 0.6, {"stub_body": 0.5})


def test_custom_lenses_change_the_rubric_digest() -> None:
    plain, own = read_rubric(RUBRIC_TEXT), read_rubric(RUBRIC_TEXT.replace("signals:", f"lenses: [{LENS}]\nsignals:"))
    assert "lenses" not in plain.model_dump()
    assert [lens.id for lens in plain.panel_lenses] == ["correctness", "tests", "scope"]
    assert [lens.id for lens in own.panel_lenses] == ["safety"]
    assert rubric_digest(own) != rubric_digest(plain)
    assert {category for lens in plain.panel_lenses for category in lens.categories} == set(Category)


def test_rubric_may_name_a_retired_signal() -> None:
    assert read_rubric(RUBRIC_TEXT.replace("stub_body: 0.5", "stub_body: 0.5, reformatted: 0.2")).id == "mine"


def test_every_mistake_is_reported_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "rubric.yml"
    wrong = (
        RUBRIC_TEXT.replace("0.6", "often")
        .replace("weak_test: proves", "bad_style: proves")
        .replace("ten: It", "tenn: It")
    ).replace("stub_body: 0.5", "stub_bodies: 0.5, nosuch: 0.3")
    path.write_text(wrong, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        load_rubric(path)
    assert str(refused.value) == snapshot("""\
Rubric refused at criteria.0.tenn: unknown field (line 8).
  and at categories.bad_style: Input should be 'scope_creep', 'acceptance_gap', 'weak_test', 'tests_pass_but_wrong', 'half_finished' or 'spec_violation' (line 9).
  and at signals.nosuch: no signal has this name; docs/signals.md lists all (line 10).
  and at signals.stub_bodies: no signal has this name; docs/signals.md lists all (line 10).
  and at escalation_threshold: Input should be a valid number, unable to parse string as a number (line 11).
  and at criteria.0.ten: Field required.
The format: docs/rubric.md.\
""")


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        (("ten: It does.", "ten: It does.\n    foo: 1"), "Rubric refused at criteria.0.foo: unknown field (line "),
        (("id: mine", "name: mine"), "Rubric refused at name: unknown field (line "),
        (
            ("categories:", "  - {id: solves, question: Again, ten: Again.}\ncategories:"),
            "Rubric refused at criteria.1.id: solves stands twice (line 9).",
        ),
        (("signals:", f"lenses: [{LENS}, {LENS}]\nsignals:"), "Rubric refused at lenses.1.id: safety stands twice (line "),
        (("signals:", "lenses: [{id: safety, focus: Look., categories: []}]\nsignals:"), "Rubric refused at lenses.0.categories: "),
        (("id: mine\n", ""), "Rubric refused at id: Field required."),
        (("stub_body: 0.5", "stub_body: 2"), "Rubric refused at signals.stub_body: "),
        (("rubric_version: 1", "rubric_version: 2"), "Rubric refused at rubric_version: "),
        (("id: mine", "id: mine\nid: yours"), "Rubric refused: line 4: "),
        (('version: "2"', "version: *name"), "Rubric refused: line 4: "),
        (("id: mine", "id: mine\x00"), "Rubric refused: "),
        ((RUBRIC_TEXT, "- just\n- a list"), "Rubric refused at the whole file: "),
        ((RUBRIC_TEXT, ""), "Rubric refused at the whole file: "),
    ],
    ids=range(13),
)  # fmt: skip
def test_invalid_rubric_is_refused_with_the_field_path(change: tuple[str, str], refusal: str) -> None:
    with pytest.raises(InputError) as caught:
        read_rubric(RUBRIC_TEXT.replace(*change))
    assert str(caught.value).startswith(refusal)
    assert str(caught.value).endswith("The format: docs/rubric.md.")


def test_yaml_literals_stay_text() -> None:
    text = RUBRIC_TEXT.replace("Does it?", "on").replace("It does.", "12:30").replace("id: mine", "id: no")
    rubric = read_rubric(text)
    assert (rubric.id, rubric.criteria[0].question, rubric.criteria[0].ten) == ("no", "on", "12:30")


def test_unreadable_rubric_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere.yml can't be read: No such file or directory. Give"):
        load_rubric(tmp_path / "nowhere.yml")
    (tmp_path / "binary.yml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"binary.yml can't be read: is not UTF-8"):
        load_rubric(tmp_path / "binary.yml")


def test_rubric_files_are_told_from_weights_by_content(tmp_path: Path) -> None:
    broken, phrases = tmp_path / "broken.yml", tmp_path / "words.yml"
    broken.write_text("criteria: [")
    phrases.write_text("criteria")
    assert [is_judged_by(path) for path in (RUBRIC, WEIGHTS, broken, phrases)] == [True, False, False, False]


def test_custom_weights_are_read_and_validated(tmp_path: Path) -> None:
    own = tmp_path / "own.yml"
    own.write_text(WEIGHTS.read_text().replace("last: 0.7", "last: 0.5"))
    assert load_pull_request_rubric(own) == load_pull_request_rubric().model_copy(update={"last": 0.5})
    with pytest.raises(InputError, match="Rubric refused at criteria: unknown field"):
        load_pull_request_rubric(RUBRIC)
