"""What is looked up in the head tree."""

from tests.worker.judge.making import dossier
from worker.domain.dossier.dossier import HeadFile
from worker.domain.dossier.lookups import MOST_PATHS, Definition, NameLookup, build_lookup, find_absent

RETRY = Definition("_retry", r"\.py$", is_private=True)


def test_a_lookup_holds_the_files_that_could_call_it_and_have_no_text() -> None:
    paths = ["b.py", "a.go", "known.py", "b.py", "c.py"]
    assert build_lookup(RETRY, paths, {"known.py"}) == NameLookup(name="_retry", paths=("b.py", "c.py"))


def test_a_lookup_holds_so_many_files_at_most() -> None:
    assert len(build_lookup(RETRY, [f"{number}.py" for number in range(20)], set()).paths) == MOST_PATHS


def test_the_known_paths_are_those_whose_text_is_at_hand() -> None:
    files = (HeadFile(path="a.py", text="x"), HeadFile(path="gone.py", exists=False))
    assert dossier(files=files).known_paths == {"a.py"}
    assert dossier(files=None).known_paths == frozenset()


def test_a_path_is_absent_where_it_is_neither_a_file_nor_the_end_of_one_nor_a_folder() -> None:
    tree = ("docs/deep/b.md", "acme/__init__.py")
    assert find_absent(tree, ["docs/deep/b.md", "b.md", "deep/b.md", "docs", "acme/init.py", "Docs/Deep/B.md"]) == ()
    assert find_absent(tree, ["docs/c.md", "b.m", "eep/b.md", "doc"]) == ("docs/c.md", "b.m", "eep/b.md", "doc")
