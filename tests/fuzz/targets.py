"""The parsers that read foreign text, and their invariants."""

from collections.abc import Mapping
from random import Random
from typing import Final

from tests.bench.generated import LANGUAGES, Size, generate_dossier, generate_file, print_diff
from tests.fuzz.fuzzing import CORPUS, Target, read_words, spoil, text_target
from tests.worker.dossier.secret_samples import look_alikes, secrets
from worker.adapters.git.junit import read_junit
from worker.domain.dossier import Commit, Guidance, HeadFile, Issue
from worker.domain.verdict.ledger import Case
from worker.dossier.authors import AGENTS, find_author_agent
from worker.dossier.case import CaseError, read_case, read_case_file, read_pointer
from worker.dossier.diff import DiffError, LineKind, parse_diff
from worker.dossier.issues import criteria_of, find_closing_links, listed_criteria
from worker.dossier.repo_rules.files import parse_guidance
from worker.dossier.secrets import redact
from worker.errors import InputError
from worker.judge.rubric import load_rubric
from worker.signals.heuristic_opinion import form_opinion

RUBRIC: Final = load_rubric()
PULL: Final = generate_dossier(["python"], Size(files=1), whole=False).pull_request
KNOWN_AGENTS: Final = {mark.agent for mark in AGENTS} | {"aider", None}


def run_agents(text: str) -> None:
    """The agent is a known one or none."""
    commits = (Commit(sha="3" * 40, message=text, author=text[:200]),)
    pull = PULL.model_copy(update={"commits": commits, "author": text[:100], "head_ref": text[:100], "body": text})
    assert find_author_agent(pull) in KNOWN_AGENTS


def run_case_block(text: str) -> None:
    """The result is a case, an error or none."""
    alone = text.partition("```assay\n")[2].partition("```")[0]
    assert all(case is None or isinstance(case, (Case, CaseError)) for case in (read_case(text), read_case_file(alone)))


def run_criteria(text: str) -> None:
    """Criteria are numbered from 1 and never empty."""
    listed_criteria(text)
    criteria = criteria_of((Issue(number=1, title=text[:200], body=text),), "a title", text)
    assert [criterion.id for criterion in criteria] == [f"AC{number}" for number in range(1, len(criteria) + 1)]
    assert criteria


def run_links(text: str) -> None:
    """Each linked number occurs in the text."""
    for link in find_closing_links(text, "acme/widgets"):
        assert str(link.number) in text


def make_pointer(random: Random) -> bytes:
    pointers = (CORPUS / "pointers.txt").read_bytes().splitlines()
    return spoil(random.choice(pointers), random, read_words("pointers"))


def make_diff(random: Random) -> bytes:
    size = Size(files=random.choice((1, 2, 6)), kept=random.choice((0, 4)), added=random.choice((0, 1)))
    raw = generate_dossier([random.choice(LANGUAGES)], size, whole=False).diff.encode()
    return spoil(raw, random, read_words("diff"))


def run_diff(raw: bytes) -> None:
    """Counts, line numbers and texts of a diff agree with its lines."""
    for file in parse_diff(raw).files:
        for hunk in file.hunks:
            base = sum(line.kind is not LineKind.ADDED for line in hunk.lines)
            head = sum(line.kind is not LineKind.REMOVED for line in hunk.lines)
            assert (base, head) == (hunk.base_count, hunk.head_count)
            numbers = [line.head_line for line in hunk.lines if line.head_line is not None]
            assert numbers == list(range(hunk.head_start, hunk.head_start + head))
        lines = [line for hunk in file.hunks for line in hunk.lines]
        for kind, texts in ((LineKind.ADDED, file.added_texts), (LineKind.REMOVED, file.removed_texts)):
            assert texts == tuple(line.text for line in lines if line.kind is kind)
        assert "".join(file.added_passages()) == "".join(f"{text}\n" for text in file.added_texts)
        assert file.head_side == "".join(f"{line.text}\n" for line in lines if line.head_line is not None)


def make_secrets(random: Random) -> bytes:
    """Samples spoiled together, or one word repeated."""
    pieces = read_words("redaction")
    if random.random() < 0.3:
        unit = b"".join(random.choices((*pieces, b" ", b"\n", b"a" * random.randint(1, 60)), k=random.randint(1, 4)))
        return unit * (random.randint(1_000, 200_000) // len(unit))
    seed = random.randrange(10**6)
    texts = [sample.text for sample in (*secrets(5, seed), *look_alikes(5, seed))]
    random.shuffle(texts)
    return spoil("\n".join(texts).encode(), random, pieces)


def run_secrets(raw: bytes) -> None:
    """Redacting keeps the lines, and redacting again keeps the marks."""
    text = raw.decode("utf-8", "replace")
    clean = redact(text)
    assert clean.text.count("\n") == text.count("\n"), "a line was lost"
    assert all(1 <= secret.line <= text.count("\n") + 1 for secret in clean.secret_lines), "a line that is not there"
    assert redact(clean.text).text.count("[redacted: ") >= clean.text.count("[redacted: "), "a mark was redacted"


MOST_CODE: Final = 30_000
"""Characters of each text; a longer comparison takes too long."""

FURTHER: Final = {
    "ruby": (("lib/a.rb", "spec/a_spec.rb"), "class A\n  def f(x)\n    g(x)\n  end\nend\n"),
    "csharp": (("src/A.cs", "test/ATests.cs"), "class A {\n    int F(int x) { return G(x); }\n}\n"),
    "php": (("src/A.php", "tests/ATest.php"), "<?php\nclass A {\n    function f($x) { return g($x); }\n}\n"),
    "kotlin": (("src/A.kt", "src/test/ATest.kt"), "class A {\n    fun f(x: Int) = g(x)\n}\n"),
}
"""Languages without generated changes: a path of code, one of tests, and a text."""


def code_in(language: str, number: int, kept: int) -> tuple[str, str]:
    """A path and a text: number 0 of code, 1 of tests."""
    if language in FURTHER:
        paths, text = FURTHER[language]
        return paths[number], text
    file = generate_file(language, number, Size(files=1, kept=kept))
    return file.path, file.head


def make_code(random: Random) -> bytes:
    """The language, the role of the file, whether whole files are known, and a text before and one after."""
    language = random.choice((*LANGUAGES, *FURTHER))
    number, pieces = random.randrange(2), read_words("heuristics")
    clean = code_in(language, number, random.choice((1, 4)))[1].encode()
    before = clean if random.random() < 0.5 else spoil(clean, random, pieces)
    after = spoil(before, random, pieces)
    return b"\0\0".join((language.encode(), b"%d%d" % (number, random.randrange(2)), before, after))


def run_code(raw: bytes) -> None:
    language, kind, before, after = (piece.decode("utf-8", "replace") for piece in raw.split(b"\0\0", 3))
    path, _ = code_in(language, int(kind[0]), 0)
    frame = generate_dossier(
        [language if language in LANGUAGES else "python"], Size(files=2, kept=1, added=0), whole=True
    )
    diff = print_diff(path, before[:MOST_CODE], after[:MOST_CODE])
    files = (HeadFile(path=path, text=after[:MOST_CODE]),) if kind[1] == "1" else None
    form_opinion(frame.model_copy(update={"diff": diff, "files": files}), RUBRIC)


JUNIT: Final = (CORPUS / "junit.txt").read_bytes()
TARGETS: Final[Mapping[str, Target]] = {
    target.name: target
    for target in (
        text_target("agents", run_agents),
        text_target("case_block", run_case_block),
        text_target("criteria", run_criteria),
        Target("diff", make_diff, run_diff, (DiffError,)),
        Target("heuristics", make_code, run_code),
        Target(
            "junit",
            lambda random: spoil(JUNIT, random, read_words("junit")),
            lambda raw: read_junit(raw, "junit.xml"),
            (InputError,),
        ),
        text_target("links", run_links),
        Target("pointers", make_pointer, lambda raw: read_pointer(raw.decode("utf-8", "replace"))),
        Target("redaction", make_secrets, run_secrets),
        text_target("rules", lambda text: parse_guidance(Guidance(path="AGENTS.md", text=text))),
    )
}
