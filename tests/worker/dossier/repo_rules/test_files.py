from worker.domain.dossier import Guidance
from worker.dossier.repo_rules.files import RULE_FOLDERS, folders_above, is_rules_file, is_rules_name, unique_files


def test_folders_above_a_change_run_from_the_root_down() -> None:
    assert folders_above(["a/b/c.py", "a/d.py", "e.py"], 10) == ("a/", "a/b/")
    assert folders_above(["a/b/c.py", "z/c.py"], 2) == ("a/", "z/")


def test_only_files_with_the_folders_extension_are_rules() -> None:
    assert is_rules_name(".cursor/rules", "a.mdc")
    assert not is_rules_name(".cursor/rules", "README.txt")
    assert all(ending.startswith(".") for ending in RULE_FOLDERS.values())


def test_rules_file_is_recognized_by_its_path() -> None:
    rules = ["AGENTS.md", "src/deep/CLAUDE.md", ".cursor/rules/a.mdc", ".github/copilot-instructions.md"]
    assert [
        path for path in (*rules, ".cursor/rules/a.txt", "docs/agents.md", "src/GEMINI.md") if is_rules_file(path)
    ] == rules


def test_duplicate_or_pointing_rules_files_are_dropped() -> None:
    files = [
        Guidance(path="AGENTS.md", text="No prints.\n"),
        Guidance(path="CLAUDE.md", text="@AGENTS.md\n"),
        Guidance(path="GEMINI.md", text="./AGENTS.md"),
        Guidance(path=".cursorrules", text=".github/copilot-instructions.md"),
        Guidance(path="CONVENTIONS.md", text="No prints."),
        Guidance(path=".clinerules", text=" \n"),
        Guidance(path="src/AGENTS.md", text="No globals."),
        Guidance(path="lib/AGENTS.md", text="No globals."),
    ]
    assert [file.path for file in unique_files(files)] == ["AGENTS.md", "src/AGENTS.md", "lib/AGENTS.md"]
