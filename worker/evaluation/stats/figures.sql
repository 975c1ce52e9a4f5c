-- Tables of one installation's figures. They hold what the stream has up to one entry, and can be dropped and counted again.
-- at_ms and seq are an entry's id: the server's time in milliseconds, and a number within it.
-- Scores and confidences are whole ten-thousandths, money is whole nanodollars.

CREATE TABLE progress (entry_id TEXT NOT NULL, until_ms INTEGER NOT NULL, first_ms INTEGER NOT NULL);
INSERT INTO progress VALUES ('', 0, 0);

-- What many verdicts have in common. decision '': a failure without an opinion. facts: a JSON list of signals.
-- is_submission: it was shown, a verdict on a head and no re-evaluation.
CREATE TABLE classes (
  id INTEGER PRIMARY KEY,
  subject TEXT NOT NULL,
  view TEXT NOT NULL,
  rubric TEXT NOT NULL,
  decision TEXT NOT NULL,
  category TEXT NOT NULL,
  agent TEXT NOT NULL,
  judge_kind TEXT NOT NULL,
  is_failed INTEGER NOT NULL,
  is_submission INTEGER NOT NULL,
  is_rejudged INTEGER NOT NULL,
  facts TEXT NOT NULL,
  UNIQUE (subject, view, rubric, decision, category, agent, judge_kind, is_failed, is_submission, is_rejudged, facts)
);

-- What decides how a verdict counts: few rows, by which the verdicts of a repository are read in groups.
CREATE TABLE kinds (
  id INTEGER PRIMARY KEY,
  subject TEXT NOT NULL,
  view TEXT NOT NULL,
  decision TEXT NOT NULL,
  is_failed INTEGER NOT NULL,
  is_rejudged INTEGER NOT NULL,
  UNIQUE (subject, view, decision, is_failed, is_rejudged)
);

-- Verdicts, and failures. nano NULL: the price is not known. is_disliked: a person found it not helpful.
CREATE TABLE verdicts (
  at_ms INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  eval_id TEXT NOT NULL UNIQUE,
  class_id INTEGER NOT NULL,
  kind_id INTEGER NOT NULL,
  repository_id INTEGER NOT NULL,
  number INTEGER NOT NULL,
  subject_key TEXT NOT NULL,
  round INTEGER NOT NULL,
  score INTEGER NOT NULL,
  confidence INTEGER NOT NULL,
  nano INTEGER,
  is_disliked INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (at_ms, seq)
) WITHOUT ROWID;
CREATE INDEX verdicts_by_class ON verdicts (class_id, at_ms, score, confidence, nano, is_disliked);
CREATE INDEX verdicts_by_repository ON verdicts (repository_id, kind_id, at_ms, score, confidence, nano, is_disliked);
CREATE INDEX verdicts_by_pull ON verdicts (repository_id, number);

-- Repositories with verdicts. A scan of it is in the order of verdicts_by_repository, so that a query by repository sorts nothing.
CREATE TABLE repositories (id INTEGER PRIMARY KEY);

CREATE TABLE open_evaluations (eval_id TEXT PRIMARY KEY, at_ms INTEGER NOT NULL, subject TEXT NOT NULL) WITHOUT ROWID;

-- What people or GitHub did, once each. eval_id: of the verdict it is about, or '' or the unknown one that it names.
-- heard_ms: when it happened. is_right: whether it bears the verdict out; NULL: it does not tell.
CREATE TABLE outcomes (
  at_ms INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  repository_id INTEGER NOT NULL,
  number INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  strength TEXT NOT NULL,
  eval_id TEXT NOT NULL,
  heard_ms INTEGER NOT NULL,
  verdict_ms INTEGER,
  verdict_seq INTEGER,
  is_right INTEGER,
  PRIMARY KEY (at_ms, seq),
  UNIQUE (repository_id, number, outcome, eval_id, heard_ms)
) WITHOUT ROWID;
CREATE INDEX outcomes_by_verdict ON outcomes (verdict_ms, verdict_seq);

-- Pull requests by their first accept or reject.
CREATE TABLE pulls (
  repository_id INTEGER NOT NULL,
  number INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  agent TEXT NOT NULL,
  accepted_round INTEGER,
  is_landed INTEGER NOT NULL DEFAULT 0,
  is_reverted INTEGER NOT NULL DEFAULT 0,
  is_fixed INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (repository_id, number)
) WITHOUT ROWID;
CREATE INDEX pulls_by_time ON pulls (at_ms);

-- Two verdicts on one subject, at the time of the later one. difference: rubric, else tier, else same; or opinions.
CREATE TABLE pairs (
  at_ms INTEGER NOT NULL,
  difference TEXT NOT NULL,
  pair TEXT NOT NULL,
  distance INTEGER NOT NULL,
  is_same_decision INTEGER NOT NULL
);
CREATE INDEX pairs_by_time ON pairs (at_ms);

-- Entries by hour: how evaluations went by subject, outcomes by kind, what was skipped by reason.
CREATE TABLE counts (
  at_ms INTEGER NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (at_ms, name, value)
) WITHOUT ROWID;

-- By what a reject is grouped.
CREATE VIEW reject_groups AS
SELECT classes.id AS class_id, 'signals' AS grouping, fact.value AS value
FROM classes, json_each(facts) AS fact WHERE is_submission AND decision = 'reject'
UNION ALL
SELECT id, 'categories', category FROM classes WHERE is_submission AND decision = 'reject'
UNION ALL
SELECT id, 'rubrics', rubric FROM classes WHERE is_submission AND decision = 'reject';

-- What was done about each verdict, however often.
CREATE VIEW objections AS
SELECT
  verdict_ms,
  verdict_seq,
  max(outcome = 'override') AS override,
  max(outcome = 'contest') AS contest,
  max(outcome = 'not_helpful') AS not_helpful,
  max(outcome = 'merged') AS merged,
  max(outcome IN ('override', 'contest', 'not_helpful')) AS objected,
  max(outcome IN ('override', 'contest_upheld')) AS overturned
FROM outcomes WHERE verdict_ms IS NOT NULL GROUP BY verdict_ms, verdict_seq;

-- The last outcome of each strength that tells whether a verdict was right: a merge that is reverted was no merge.
CREATE VIEW last_outcomes AS
SELECT verdict_ms, verdict_seq, strength, is_right
FROM (
  SELECT *, row_number() OVER (
    PARTITION BY verdict_ms, verdict_seq, strength ORDER BY at_ms DESC, seq DESC
  ) AS age FROM outcomes WHERE is_right IS NOT NULL
) WHERE age = 1;
