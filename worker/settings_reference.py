"""Every variable of the environment, as documentation and error messages tell it.

Does not read any (`worker.settings` does). Invariant: what settings read is listed here once, with what is expected, its
default and where to get it; docs/configuration.md is this list.
"""

from typing import Final

from worker.domain.value import Value


class Variable(Value):
    """One variable of the environment, as documentation and error messages tell it."""

    name: str
    expected: str
    default: str
    source: str

    @property
    def remedy(self) -> str:
        """What to set it to, and where that is to be had."""
        expected = f"Expected: {self.expected}."
        return expected if self.source == CHOICE else f"{expected} Get it from: {self.source}."


CHOICE: Final = "your choice"

VARIABLES: Final[tuple[Variable, ...]] = (
    Variable("ASSAY_APP_ID", "the App's number", "none", "the App's settings page, under About"),
    Variable(
        "ASSAY_APP_PRIVATE_KEY",
        "the App's private key: PEM text, its base64, or the path of the .pem file; two, separated by a space, while rotating",
        "none",
        'the App\'s settings page, "Generate a private key"',
    ),
    Variable(
        "ASSAY_WEBHOOK_SECRET",
        "the webhook secret; two, separated by a space, while rotating",
        "none",
        "the App's settings page, under Webhook",
    ),
    Variable(
        "ANTHROPIC_API_KEY",
        "a key of the Anthropic API",
        "none: no model is asked, what needs one is `unproven`",
        "Anthropic's console",
    ),
    Variable("ANTHROPIC_BASE_URL", "an http(s) URL", "Anthropic's own", "the operator of your gateway"),
    Variable("ASSAY_MODEL", "a model's name", "claude-haiku-5-5", "Anthropic's list of models"),
    Variable("ASSAY_SECOND_MODEL", "a model's name, for second opinions", "none is asked", "docs/operating.md"),
    Variable("ASSAY_BOARD", "1 looks through three lenses, at three times the price", "0", "docs/operating.md"),
    Variable("ASSAY_MODELS", "models that a repository may choose besides ASSAY_MODEL", "none", "docs/operating.md"),
    Variable("ASSAY_TIER", "heuristic, hybrid or llm", "hybrid", "docs/configuration.md"),
    Variable(
        "ASSAY_ESCALATION_THRESHOLD",
        "a number; the model is asked below it (0: never, above 1: always)",
        "the rubric's (0.7)",
        "docs/configuration.md",
    ),
    Variable("REDIS_URL", "a redis://, rediss:// or unix:// URL", "an embedded server", "the operator of your Redis"),
    Variable("ASSAY_DATA_DIR", "a folder", "$XDG_STATE_HOME/assay or ~/.local/state/assay", CHOICE),
    Variable(
        "ASSAY_STORE_KEYS",
        "base64 keys of 32 bytes, separated by spaces; the first encrypts",
        "one is made in the data folder (embedded server only)",
        "`openssl rand -base64 32`",
    ),
    Variable(
        "ASSAY_GITHUB_API_URL",
        "the API's URL",
        "https://api.github.com",
        "for GitHub Enterprise Server https://HOST/api/v3",
    ),
    Variable("GITHUB_TOKEN", "a token that may read the repository", "none", "`gh auth token`, or GitHub's settings"),
    Variable("ASSAY_HOST", "an address to listen on", "127.0.0.1", CHOICE),
    Variable("ASSAY_PORT", "a port, 0 for any free one", "8000", CHOICE),
    Variable(
        "ASSAY_METRICS_ADDRESS",
        "HOST:PORT at which `assay serve` answers GET /metrics, for Prometheus; keep it off the public side",
        "none: no metrics are answered",
        "docs/operating.md",
    ),
    Variable("ASSAY_WORKERS", "how many pull requests are judged at a time", "1", CHOICE),
    Variable("ASSAY_RETRIES", "how often a failed judging is tried again", "3", CHOICE),
    Variable(
        "ASSAY_OUTAGE_RETRIES",
        "how often a judging is retried after an outage of the model",
        "5",
        CHOICE,
    ),
    Variable("ASSAY_MODEL_TIMEOUT", "the most seconds that one question takes, all tries together", "120", CHOICE),
    Variable("ASSAY_MODEL_ATTEMPTS", "how often one question is asked", "3", CHOICE),
    Variable("ASSAY_MODEL_RETRY_DELAY", "seconds before the second try, then doubled", "1", CHOICE),
    Variable(
        "ASSAY_MAX_OUTPUT_TOKENS",
        "the longest reply, what a model thinks included; less where the form of the reply allows no more",
        "8000",
        CHOICE,
    ),
    Variable(
        "ASSAY_THINKING",
        "1 lets every model think before it answers, which costs ASSAY_MAX_OUTPUT_TOKENS to reserve; else only those that always do",
        "0",
        CHOICE,
    ),
    Variable(
        "ASSAY_PROMPT_TOKENS",
        "the longest question to a model, in tokens; a change that does not fit is too_large; some models cost more above 100,000",
        "60000",
        CHOICE,
    ),
    Variable("ASSAY_PR_MAX_USD", "the most that models may cost for one pull request, in dollars", "0.10", CHOICE),
    Variable("ASSAY_DAY_MAX_USD", "the most that they may cost an installation a day (UTC)", "1.00", CHOICE),
    Variable(
        "ASSAY_REPOSITORY_SHARE",
        "the part of that day that one repository may spend beside others, from 0 to 1",
        "0.5",
        "docs/operating.md",
    ),
    Variable(
        "ASSAY_AUTHOR_SHARE",
        "the part of that day that one author's pull requests may cost beside others', from 0 to 1",
        "0.5",
        "docs/operating.md",
    ),
    Variable("ASSAY_PAUSED", "1 pauses all judging: checks are neutral, no model is asked", "0", CHOICE),
    Variable("ASSAY_LOG_LEVEL", "DEBUG, INFO, WARNING or ERROR", "INFO", CHOICE),
    Variable(
        "ASSAY_RETENTION_DAYS",
        "days that what was judged is kept, and how; 0: nothing but the verdict's entry in the ledger",
        "30",
        CHOICE,
    ),
    Variable(
        "ASSAY_LEDGER_DAYS",
        "days that a pull request's verdicts are kept after it was closed; at least 31, since a revert counts for 30",
        "90",
        CHOICE,
    ),
    Variable(
        "ASSAY_EVENT_DAYS",
        "days that events are kept, from which all figures are counted; they hold no text and no source",
        "365",
        CHOICE,
    ),
    Variable(
        "ASSAY_EVENT_WORDS",
        "1 puts a verdict's concern, without secrets, into its event; such events are marked user_controlled",
        "0",
        CHOICE,
    ),
    Variable(
        "ASSAY_ROUND_LIMIT",
        "how many rounds may end in a reject; then a person decides",
        "5",
        CHOICE,
    ),
    Variable(
        "ASSAY_CANARY_RUBRIC",
        "a rubric's file: a candidate that judges beside the active one, and is not shown",
        "none",
        "docs/rubric.md",
    ),
    Variable(
        "ASSAY_CANARY_PROMPT",
        "a prompt's file: a candidate likewise; needs ASSAY_CANARY_USD",
        "none",
        "docs/rubric.md",
    ),
    Variable(
        "ASSAY_CANARY_USD",
        "the most that the candidate's questions may cost an installation a day (UTC), in dollars; 0: it asks no model",
        "0",
        CHOICE,
    ),
    Variable(
        "ASSAY_PEOPLE",
        "skip, observe or judge people's pull requests, where a repository does not say (`authors`); agents' are judged",
        "observe",
        "docs/triggers.md",
    ),
    Variable(
        "ASSAY_BOTS",
        "skip, observe or judge those of bots that are no coding agents, where a repository does not say",
        "observe",
        "docs/triggers.md",
    ),
    Variable(
        "ASSAY_COMMENTS",
        "0 writes no comment, answers no command in words and requests no review, whatever the App may",
        "1",
        "docs/permissions.md",
    ),
    Variable(
        "ASSAY_REACTIONS",
        "0 leaves no reaction at commands, whatever the App may",
        "1",
        "docs/permissions.md",
    ),
    Variable(
        "ASSAY_SERVER", "the http(s) URL of a running Assay, for `assay wait`", "the records here", "its operator"
    ),
    Variable("ASSAY_TOKEN", "a token that it made, for `assay wait`", "none", "`assay token create` there"),
    Variable(
        "ASSAY_QUIET_WINDOW",
        "seconds without a push before judging, where a repository does not say; none where CI is green or the author made a case",
        "10",
        "docs/triggers.md",
    ),
    Variable("ASSAY_QUIET_MAX", "the longest that pushes may put judging off, in seconds", "300", CHOICE),
    Variable(
        "ASSAY_GATHER",
        "seconds to wait for more news of other checks, of an edited issue or of another base branch before looking",
        "2",
        CHOICE,
    ),
    Variable("ASSAY_LEASE", "seconds after which a silent judge has lost its pull request", "60", "keep it"),
    Variable("ASSAY_HOLD", "seconds for a job to be taken by a worker", "15", "keep it"),
    Variable("ASSAY_OPEN_HOLD", "seconds for a check run to be opened", "40", "keep it"),
    Variable("ASSAY_LEADER", "seconds after which another dispatcher takes over", "15", "keep it"),
    Variable("ASSAY_SWEEP", "seconds between two sweeps for lost jobs", "5", "keep it"),
    Variable("ASSAY_TICK", "seconds between two looks at what is due", "0.1", "keep it"),
    Variable("ASSAY_RETRY_DELAY", "seconds before the first retry, then three times as long each", "15", "keep it"),
    Variable(
        "ASSAY_GITHUB_DELAY",
        "the longest that a retry waits while GitHub does not answer, in seconds",
        "600",
        "keep it",
    ),
    Variable(
        "ASSAY_GITHUB_OUTAGE",
        "seconds for which what GitHub does not answer is tried again before the check says so, if it can be told",
        "21600",
        CHOICE,
    ),
    Variable(
        "ASSAY_ASKING",
        "seconds after the first question about a change in which further ones may begin",
        "600",
        "keep it",
    ),
    Variable(
        "ASSAY_OUTAGE_DELAY",
        "seconds before the first try after an outage of the model, then twice as long each",
        "600",
        CHOICE,
    ),
    Variable(
        "ASSAY_FORGET_AFTER",
        "seconds after the App was uninstalled until all about that installation is deleted; installed again before, it stays",
        "604800",
        CHOICE,
    ),
    Variable(
        "ASSAY_CATCH_UP",
        "seconds between two looks for deliveries that never arrived and heads without a state; 0: never",
        "300",
        CHOICE,
    ),
    Variable("ASSAY_TIDY", "seconds between two looks at what is to be forgotten and dropped", "3600", CHOICE),
    Variable(
        "ASSAY_GROUP_WAIT",
        "the longest that a merge group waits for its pull request's verdict, in seconds; less than the queue's own limit",
        "600",
        "docs/using.md",
    ),
    Variable(
        "ASSAY_CI_WAIT",
        "the longest to wait for other checks where none of them is required or none runs, in seconds, unless a repository says (`ci_wait`)",
        "1800",
        CHOICE,
    ),
    Variable(
        "ASSAY_CI_REQUIRED_WAIT",
        "the longest to wait for a required check while any check runs, in seconds; also the most that a repository may choose (`ci_wait`)",
        "21600",
        CHOICE,
    ),
    Variable(
        "ASSAY_CI_POLL",
        "seconds between two looks at the other checks; later a twentieth of the time waited, since deliveries wake it",
        "20",
        CHOICE,
    ),
    Variable(
        "ASSAY_CHECK_DEADLINE",
        "seconds after which an unfinished check run is closed, unless it waits for CI",
        "3600",
        CHOICE,
    ),
    Variable(
        "ASSAY_LOOKAHEAD_EVENTS",
        "things that people do at a pull request after its last verdict until it gets one on the whole",
        "5",
        "docs/analytics.md",
    ),
    Variable(
        "ASSAY_LOOKAHEAD",
        "seconds without activity until a pull request gets a verdict on the whole; its close triggers one immediately",
        "86400",
        "docs/analytics.md",
    ),
    Variable("ASSAY_GITHUB_TIMEOUT", "seconds for one request to GitHub", "20", "keep it below ASSAY_LEASE / 3"),
    Variable("ASSAY_REDIS_TIMEOUT", "seconds for one answer of Redis", "5", "keep it"),
    Variable(
        "ASSAY_REDIS_WAIT",
        "seconds that `assay serve` and `assay work` wait at their start for Redis",
        "60",
        CHOICE,
    ),
    Variable("ASSAY_STOP_GRACE", "seconds that running judgings get to finish when Assay is stopped", "10", CHOICE),
)
