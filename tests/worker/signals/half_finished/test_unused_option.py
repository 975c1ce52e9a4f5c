"""Options of a command line that nothing reads."""

import pytest

from tests.worker.signals.made import change_of, diff_of, plain_dossier
from worker.signals.analysis.change import CodeChange
from worker.signals.half_finished.unused_option import option_unread

ARGPARSE = """import argparse


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dry-run", action="store_true", help="change nothing")
    args = parser.parse_args()
    work(args.path)
"""
CLICK = """@cli.command()
@click.option("--dry-run", is_flag=True)
def work(dry_run):
    go()
"""
COBRA = """package cmd

type options struct {
\tDryRun bool // change nothing
}

func NewCmd() *cobra.Command {
\topts := &options{}
\tcmd := &cobra.Command{}
\tcmd.Flags().BoolVarP(&opts.DryRun, "dry-run", "n", false, "change nothing")
\treturn cmd
}
"""
LOOKED_UP = """package cmd

func NewCmd() *cobra.Command {
\tcmd := &cobra.Command{}
\tcmd.Flags().Bool("dry-run", false, "change nothing")
\treturn cmd
}
"""
CLAP = """#[derive(Parser)]
struct Options {
    #[arg(long, short = 'n')]
    dry_run: bool,
    #[arg(value_name = "FILE")]
    path: String,
    #[allow(missing_docs)]
    other: String,
}

#[arg(long)]
fn not_a_field() {}
"""
BUILT = """fn cli() -> Command {
    Command::new("x").arg(Arg::new("dry-run").long("dry-run").help("change nothing"))
}
"""
COMMANDER = """program
  .option('-n, --dry-run', 'change nothing')
  .option('--quiet-mode', 'no longer used');
const opts = program.opts();
work(opts.path);
"""
UNREAD = {
    "argparse": ("a.py", ARGPARSE),
    "click": ("a.py", CLICK),
    "cobra": ("a.go", COBRA),
    "looked up": ("a.go", LOOKED_UP),
    "clap": ("src/a.rs", CLAP),
    "built": ("src/a.rs", BUILT),
    "commander": ("a.js", COMMANDER),
}
READING = {
    "argparse": "if args.dry_run:\n    pass\n",
    "click": "if dry_run:\n    pass\n",
    "cobra": "func run(o *options) bool { return o.DryRun }\n",
    "looked up": 'func run(c *cobra.Command) { c.Flags().GetBool("dry-run") }\n',
    "clap": "fn run(o: &Options) -> bool { o.dry_run }\n",
    "built": 'fn run(m: &ArgMatches) -> bool { m.get_flag("dry-run") }\n',
    "commander": "if (opts.dryRun) work()\n",
}


def unread(path: str, code: str, before: str | None = None, *, texts: bool = True) -> list[str]:
    change = change_of({} if before is None else {path: before}, {path: code}, texts=texts)
    return [finding.note for finding in option_unread.findings(change)]


@pytest.mark.parametrize(("path", "code"), UNREAD.values(), ids=UNREAD.keys())
def test_a_new_option_that_nothing_names_again_is_told(path: str, code: str) -> None:
    assert unread(path, code) == ["nothing reads the new option `--dry-run`"]


@pytest.mark.parametrize("kind", UNREAD)
def test_one_that_is_read_in_any_spelling_is_nothing(kind: str) -> None:
    path, code = UNREAD[kind]
    assert unread(path, code + READING[kind]) == []
    change = change_of({}, {path: code, f"other/{path}": READING[kind]})
    assert list(option_unread.findings(change)) == []


@pytest.mark.parametrize("kind", UNREAD)
def test_one_that_stood_there_before_is_nothing(kind: str) -> None:
    path, code = UNREAD[kind]
    assert unread(path, code + "\n", code) == []


@pytest.mark.parametrize(
    "code",
    [
        ARGPARSE.replace('action="store_true"', 'action="version"'),
        ARGPARSE.replace('help="change nothing"', "help=argparse.SUPPRESS"),
        ARGPARSE.replace("work(args.path)", "work(**vars(args))"),
        ARGPARSE.replace('"--dry-run"', "name"),
        ARGPARSE.replace('help="change nothing"', 'dest="careful"') + "    print(args.careful)\n",
        CLICK.replace("is_flag=True", "callback=show"),
        "x = options('--dry-run')\n",
    ],
)
def test_one_that_works_where_it_stands_or_is_taken_with_all_others_is_nothing(code: str) -> None:
    assert unread("a.py", code) == []


def test_a_renamed_option_and_a_part_of_a_file_are_nothing() -> None:
    assert (
        unread("a.py", ARGPARSE, ARGPARSE.replace("--dry-run", "--old").replace("help=", "dest='dry_run', help=")) == []
    )
    before = "x = 1\n" * 30 + ARGPARSE.replace('"--dry-run"', '"--old"')
    after = "x = 1\n" * 30 + ARGPARSE
    assert unread("a.py", after, before, texts=False) == []


def test_texts_of_other_files_count_and_prose_does_not() -> None:
    for path, text, notes in (("README.md", "dry_run\n", 1), ("b.py", "o.dry_run\n", 0)):
        files = [{"path": "a.py", "text": ARGPARSE}, {"path": path, "text": text}]
        change = CodeChange(plain_dossier(diff_of({"a.py": ""}, {"a.py": ARGPARSE}), files=files))
        assert len(list(option_unread.findings(change))) == notes
        half = change_of({path: "x\n" * 20 + text}, {path: "y\n" + "x\n" * 19 + text, "a.py": ARGPARSE}, texts=False)
        assert len(list(option_unread.findings(half))) == 1
