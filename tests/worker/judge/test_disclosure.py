"""What is shown or given away holds no secret that we know, and is else what was there."""

from tests.worker.judge.courtroom import bench, docket
from tests.worker.judge.making import accept, dossier, model_of, new_file, reply
from worker.domain.dossier.dossier import HeadFile, Issue, Policy
from worker.dossier.diff.parser import diff_of
from worker.judge.disclosure import make_shareable, verdict_without_secrets, without_secrets
from worker.judge.judge import judge, judge_with_record

TOKEN = "ghp_" + "a1B2" * 9
PATH = f"keys/{TOKEN}.txt"


def test_a_reply_that_quotes_a_secret_is_shown_without_it() -> None:
    audit = judge_with_record(dossier(), docket(), bench(model_of(reply(f"It holds {TOKEN}."), accept()))).audit
    shown = without_secrets(audit)
    assert TOKEN in str(audit)
    assert TOKEN not in str(shown)
    assert "It holds [redacted: github token]." in str(shown.exchanges[0])


def test_a_verdict_that_quotes_a_secret_is_shown_without_it() -> None:
    verdict = judge(dossier(), docket(), bench(model_of(accept(concern=f"It holds {TOKEN}."))))
    assert TOKEN in str(verdict)
    assert verdict_without_secrets(verdict).concern == "It holds [redacted: github token]."
    plain = judge(dossier(), docket(), bench(model_of(accept())))
    assert verdict_without_secrets(plain) == plain


def test_a_record_without_secrets_is_shown_as_it_is() -> None:
    audit = judge_with_record(dossier(), docket(), bench(model_of(accept()))).audit
    assert without_secrets(audit) == audit


def test_a_dossier_without_secrets_is_given_away_as_it_is_and_decides_alike() -> None:
    shared, taken = make_shareable(dossier())
    assert (shared, taken) == (dossier(), ())
    assert judge(shared, docket(), bench()) == judge(dossier(), docket(), bench())


def test_a_dossier_is_given_away_without_the_secrets_in_it_and_still_reads_as_one() -> None:
    secret = dossier(
        issues=(Issue(number=7, title="503", body=f"use\n{TOKEN}"),),
        diff=new_file("a.py", f'KEY = "{TOKEN}"', "x = 1"),
        files=(HeadFile(path="a.py", text=f'KEY = "{TOKEN}"\nx = 1\n'),),
    )
    shared, taken = make_shareable(secret)
    assert TOKEN not in shared.model_dump_json()
    assert {redaction.where for redaction in taken} == {"issues[7].body", "diff[a.py]", "files[a.py].text"}
    [file] = diff_of(shared.diff).files
    assert [line.text for line in file.added_lines][1] == "x = 1"


def test_a_secret_in_a_path_goes_wherever_the_path_stands() -> None:
    secret = dossier(diff=new_file(PATH, "x"), files=(HeadFile(path=PATH, text="x\n"),), ci=None)
    shared, _ = make_shareable(secret)
    assert TOKEN not in shared.model_dump_json()
    [file] = diff_of(shared.diff).files
    assert shared.files is not None
    assert file.path == shared.files[0].path == "keys/[redacted: github token].txt"


BROKEN = f"diff --git a/x b/x\n@@ no @@\n+{TOKEN}\n"


def test_a_diff_that_cannot_be_read_stays_so_and_holds_no_secret_nor_does_a_path() -> None:
    shared, _ = make_shareable(dossier(diff=BROKEN, files=(HeadFile(path=PATH, text="x\n"),)))
    assert shared.diff == BROKEN.replace(TOKEN, "[redacted: github token]")
    assert TOKEN not in shared.model_dump_json()
    assert judge(shared, docket(), bench()).abstain_reason == "too_large"


def test_a_diff_that_cannot_be_read_stays_here_where_a_file_is_never_sent() -> None:
    assert make_shareable(dossier(diff=BROKEN, policy=Policy(never_send=("secret.py",))))[0].diff == ""


def test_a_file_that_is_never_sent_is_not_given_away_either() -> None:
    private = dossier(policy=Policy(never_send=("upload.py",)))
    shared, _ = make_shareable(private)
    assert "reply = post(data)" not in shared.model_dump_json()
