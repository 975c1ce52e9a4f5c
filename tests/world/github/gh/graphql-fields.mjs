// The GraphQL fields that the bench answers, type by type: field(source, args, x).
//
// A source is mostly what REST knows of the thing (`pr`, `repo`, `issue`, ...); `x` is {world, call, once, repos}.
// A field that is not here answers `bench: no resolver for Type.field`; add it here. A list becomes a connection by itself.

import {
  actor,
  addReaction,
  authors,
  base,
  binary,
  bytes,
  CHANGES,
  collaborators,
  commentedPull,
  comments,
  commit,
  edits,
  entries,
  entryOf,
  issue,
  mergeQueue,
  object,
  only,
  opinions,
  ofEmail,
  ofEntry,
  path,
  pull,
  pullRequests,
  repository,
  required,
  rollup,
  state,
  suiteView,
  TEXT_LIMIT,
  timeline,
  tooLong,
  updateIssueComment,
  ruleParameters,
  updateRule,
  upper,
  verdict,
  visible,
  whole,
  WORST_FIRST,
} from "./graphql-things.mjs";
import { need } from "./traffic.mjs";

const who = {
  id: (one) => one.node_id,
  login: (one) => one.login,
  avatarUrl: (one, { size: _ }) => one.avatar_url,
  url: (one, _, x) => `${x.world.url}/${one.login}`,
  resourcePath: (one) => `/${one.login}`,
};

const words = {
  id: (one) => one.node_id,
  databaseId: (one) => one.id,
  fullDatabaseId: (one) => String(one.id),
  author: (one) => actor(one.user),
  authorAssociation: (one) => one.author_association,
  body: (one) => one.body ?? "",
  createdAt: (one) => one.created_at,
  updatedAt: (one) => one.updated_at,
  url: (one) => one.html_url,
  resourcePath: path,
  viewerDidAuthor: async (one, _, x) => (await x.world.actor(x.call.owner)).login === one.user?.login,
};

const thread = {
  ...words,
  number: (one) => one.number,
  title: (one) => one.title,
  closed: (one) => one.state === "closed",
  closedAt: (one) => one.closed_at,
  locked: (one) => one.locked,
  labels: (one) => one.labels,
};

const gitObject = {
  id: (one) => `${one.__typename[0]}_${one.sha}`,
  oid: (one) => one.sha,
  abbreviatedOid: (one) => one.sha.slice(0, 7),
  repository: (one, _, x) => repository(x, one.repo),
  commitUrl: (one, _, x) => `${x.world.url}/${one.repo}/commit/${one.sha}`,
  commitResourcePath: (one) => `/${one.repo}/commit/${one.sha}`,
};

export const FIELDS = {
  Query: {
    repository: (_, { owner, name, followRenames }, x) => repository(x, followRenames ? x.world.moves.now(`${owner}/${name}`) : `${owner}/${name}`),
    rateLimit: (_, __, x) => ({ ...x.world.rate.bucket(x.call.owner.name), nodeCount: x.nodeCount }),
    viewer: (_, __, x) => x.world.actor(x.call.owner),
  },
  Mutation: { addReaction, updateIssueComment },

  RateLimit: {
    cost: () => 1,
    limit: ({ remaining, used }) => remaining + used,
    nodeCount: (one) => one.nodeCount,
    remaining: (one) => one.remaining,
    used: (one) => one.used,
    resetAt: ({ reset }) => new Date(reset * 1000).toISOString().replace(/\.\d+Z$/, "Z"),
  },

  PageInfo: {
    hasNextPage: (page) => page.hasNextPage,
    hasPreviousPage: (page) => page.hasPreviousPage,
    startCursor: (page) => page.startCursor,
    endCursor: (page) => page.endCursor,
  },

  Repository: {
    id: (repo) => repo.node_id,
    databaseId: (repo) => repo.id,
    name: (repo) => repo.name,
    nameWithOwner: (repo) => repo.full_name,
    owner: (repo) => actor(repo.owner),
    description: (repo) => repo.description,
    url: (repo) => repo.html_url,
    resourcePath: path,
    isPrivate: (repo) => repo.private,
    visibility: (repo) => (repo.private ? "PRIVATE" : "PUBLIC"),
    isFork: (repo) => repo.fork,
    isArchived: (repo) => repo.archived,
    parent: (repo, _, x) => {
      const parent = repo.parent?.full_name ?? x.world.parents.get(repo.full_name);
      return parent ? repository(x, parent) : null;
    },
    defaultBranchRef: (repo) => ({ repo: repo.full_name, name: repo.default_branch }),
    ref: async (repo, { qualifiedName }, x) => {
      const name = qualifiedName.replace(/^refs\/heads\//, "");
      const tip = await x.world.tip(repo.full_name, name).catch(() => null);
      return tip && { repo: repo.full_name, name };
    },
    object,
    pullRequest: (repo, { number }, x) => pull(x, repo.full_name, number),
    pullRequests,
    issue: (repo, { number }, x) => issue(x, repo.full_name, number),
    collaborators,
    mergeQueue: (repo, { branch }, x) => mergeQueue(x, repo.full_name, branch ?? repo.default_branch),
  },
  RepositoryCollaboratorEdge: { permission: ({ node }) => node.permission },

  User: { ...who, databaseId: (one) => one.id, name: (one) => one.name ?? null },
  Organization: { ...who, databaseId: (one) => one.id, name: (one) => one.name ?? null },
  Bot: { ...who, databaseId: (one) => one.id, login: (one) => one.login.replace(/\[bot\]$/, "") },
  Label: {
    id: (one) => one.node_id,
    name: (one) => one.name,
    color: (one) => one.color,
    description: (one) => one.description,
    isDefault: (one) => Boolean(one.default),
  },

  PullRequest: {
    ...thread,
    permalink: (pr) => pr.html_url,
    state,
    isDraft: (pr) => Boolean(pr.draft),
    merged: (pr) => Boolean(pr.merged),
    mergedAt: (pr) => pr.merged_at,
    mergeCommit: (pr, _, x) => (pr.merged ? commit(x, base(pr), pr.merge_commit_sha) : null),
    mergeable: (pr) => (pr.state === "open" ? "MERGEABLE" : "UNKNOWN"),
    mergeStateStatus: async (pr, _, x) => upper((await whole(pr, x)).mergeable_state),
    maintainerCanModify: (pr) => Boolean(pr.maintainer_can_modify),
    reviewDecision: () => null, // no branch of the bench requires reviews
    repository: (pr, _, x) => repository(x, base(pr)),
    baseRepository: (pr, _, x) => repository(x, base(pr)),
    baseRefName: (pr) => pr.base.ref,
    baseRefOid: (pr) => pr.base.sha,
    baseRef: (pr) => ({ repo: base(pr), name: pr.base.ref }),
    headRefName: (pr) => pr.head.ref,
    headRefOid: (pr) => pr.head.sha,
    headRef: async (pr, _, x) => {
      const name = pr.head.ref;
      const there = pr.head.repo && (await x.world.tip(pr.head.repo.full_name, name).catch(() => null));
      return there ? { repo: pr.head.repo.full_name, name } : null;
    },
    headRepository: (pr, _, x) => {
      const full = pr.head.repo?.full_name; // null too when the installation may not see a private fork
      return full ? visible(x, full).then((may) => (may ? repository(x, full) : null)) : null;
    },
    headRepositoryOwner: (pr) => actor(pr.head.repo?.owner),
    isCrossRepository: (pr) => pr.head.repo?.full_name !== base(pr),
    additions: async (pr, _, x) => (await whole(pr, x)).additions,
    deletions: async (pr, _, x) => (await whole(pr, x)).deletions,
    changedFiles: async (pr, _, x) => (await whole(pr, x)).changed_files,
    files: async (pr, _, x) => (await x.world.pulls.files(await whole(pr, x))).slice(0, 3000),
    commits: async (pr, _, x) => {
      const list = await x.world.pulls.commits(await whole(pr, x));
      return list.map(({ sha }) => ({ sha, pr }));
    },
    statusCheckRollup: async (pr, _, x) => rollup({ repo: base(await whole(pr, x)), sha: pr.head.sha }, x),
    closingIssuesReferences: async (pr, { userLinkedOnly }, x) => {
      need(x.call.owner, "issues");
      const found = await x.world.pulls.closing(pr, base(pr), userLinkedOnly);
      const may = await Promise.all(found.map((one) => visible(x, one.repo)));
      return found.filter((_one, i) => may[i]);
    },
    comments: (pr, args, x) => comments({ repo: base(pr), number: pr.number }, args, x),
    latestOpinionatedReviews: opinions,
    isMergeQueueEnabled: (pr, _, x) => mergeQueue(x, base(pr), pr.base.ref) !== null,
    isInMergeQueue: (pr, _, x) => entryOf(pr, x) !== null,
    mergeQueue: (pr, _, x) => mergeQueue(x, base(pr), pr.base.ref),
    mergeQueueEntry: (pr, _, x) => entryOf(pr, x),
  },
  PullRequestReview: {
    ...words,
    state: (one) => upper(one.state),
    submittedAt: (one) => one.submitted_at,
    commit: (one, _, x) => commit(x, one.repo, one.commit_id),
    repository: (one, _, x) => repository(x, one.repo),
  },
  PullRequestCommit: {
    id: ({ sha }) => `PRC_${sha}`,
    commit: ({ sha, pr }, _, x) => commit(x, base(pr), sha),
    pullRequest: ({ pr }) => pr,
    url: ({ sha, pr }) => `${pr.html_url}/commits/${sha}`,
  },
  PullRequestChangedFile: {
    path: (file) => file.filename,
    changeType: (file) => CHANGES[file.status] ?? upper(file.status),
    additions: (file) => file.additions,
    deletions: (file) => file.deletions,
  },

  Issue: {
    ...thread,
    state: (one) => upper(one.state),
    stateReason: (one, { enableDuplicate: _ }) => upper(one.state_reason),
    editor: (one, _, x) => actor(edits(one, x)[0]?.by),
    lastEditedAt: (one, _, x) => edits(one, x)[0]?.at ?? null,
    includesCreatedEdit: (one, _, x) => edits(one, x).length > 0,
    userContentEdits: (one, _, x) => edits(one, x),
    timelineItems: timeline,
    repository: (one, _, x) => repository(x, one.repo),
    comments,
  },
  UserContentEdit: {
    diff: (edit) => edit.text, // the whole text, whatever it is called
    editedAt: (edit) => edit.at,
    editor: (edit) => actor(edit.by),
    deletedAt: () => null, // nobody takes a version out of the history
  },
  RenamedTitleEvent: {
    id: ({ on, at }) => `RTE_${on.id}_${at}`,
    createdAt: (event) => event.at,
    previousTitle: (event) => event.from,
    currentTitle: (event) => event.to,
    actor: (event) => actor(event.by),
    subject: ({ on }) => ({ ...on, __typename: "Issue" }),
  },
  IssueComment: { ...words, repository: (one, _, x) => repository(x, one.repo), pullRequest: commentedPull },

  Ref: {
    id: ({ repo, name }) => `REF_${repo}/${name}`,
    name: (ref) => ref.name,
    prefix: () => "refs/heads/",
    repository: (ref, _, x) => repository(x, ref.repo),
    target: async ({ repo, name }, _, x) => commit(x, repo, (await x.world.tip(repo, name)).sha),
    refUpdateRule: ({ repo, name }, _, x) => updateRule(x, repo, name),
    rules: ({ repo, name }, _, x) => x.world.pulls.rulesets.get(`${repo}@${name}`) ?? [],
  },
  RepositoryRule: { parameters: ruleParameters },
  RequiredStatusChecksParameters: { requiredStatusChecks: (rule) => rule.required_status_checks },
  StatusCheckConfiguration: { context: (check) => check.context, integrationId: (check) => check.integration_id ?? null },
  RefUpdateRule: {
    pattern: (rule) => rule.pattern,
    requiredStatusCheckContexts: (rule) => rule.contexts,
  },
  Commit: {
    ...gitObject,
    url: (one, _, x) => `${x.world.url}/${one.repo}/commit/${one.sha}`,
    message: (one) => one.message,
    messageHeadline: (one) => one.message.split("\n")[0],
    messageBody: (one) => one.message.split("\n").slice(1).join("\n").trim(),
    author: (one) => one.author,
    committer: (one) => one.committer,
    authors,
    authoredDate: (one) => one.author.date,
    committedDate: (one) => one.committer.date,
    parents: (one, _, x) => Promise.all(one.parents.map(({ sha }) => commit(x, one.repo, sha))),
    tree: (one) => ({ repo: one.repo, sha: one.tree.sha, __typename: "Tree" }),
    file: async (one, { path: at }, x) => {
      need(x.call.owner, "contents");
      const tree = { repo: one.repo, sha: one.tree.sha };
      const found = (await entries(x, tree)).find((entry) => entry.path === at);
      return found ? { ...found, repo: one.repo } : null;
    },
    statusCheckRollup: (one, _, x) => rollup(one, x),
    checkSuites: (one, { filterBy }, x) => {
      need(x.call.owner, "checks");
      const app = only(filterBy, "appId")?.appId;
      const mine = (suite) => suite.repo === one.repo && suite.head_sha === one.sha;
      return x.world.checks.suites.filter((suite) => mine(suite) && (!app || suite.app?.id === app));
    },
    associatedPullRequests: async (one, _, x) => {
      need(x.call.owner, "pull_requests");
      const all = await x.world.pulls.all(one.repo);
      return all.filter((pr) => [pr.head.sha, pr.merge_commit_sha].includes(one.sha));
    },
  },
  GitActor: {
    name: (one) => one.name,
    email: (one) => one.email,
    date: (one) => one.date,
    user: ofEmail,
  },
  Tree: {
    ...gitObject,
    entries: async (tree, _, x) => {
      const all = await entries(x, tree);
      return all.filter((entry) => !entry.path.includes("/")).map((entry) => ({ ...entry, repo: tree.repo }));
    },
  },
  TreeEntry: {
    name: (entry) => entry.path.split("/").at(-1),
    path: (entry) => entry.path,
    type: (entry) => entry.type,
    mode: (entry) => Number.parseInt(entry.mode, 8),
    oid: (entry) => entry.sha,
    size: (entry) => entry.size ?? 0,
    object: (entry) => ofEntry(entry.repo, entry),
  },
  Blob: {
    ...gitObject,
    byteSize: async (blob, _, x) => (await bytes(blob, x)).length,
    isBinary: async (blob, _, x) => binary(await bytes(blob, x)),
    isTruncated: async (blob, _, x) => (await bytes(blob, x)).length > TEXT_LIMIT,
    text: async (blob, _, x) => {
      const data = await bytes(blob, x);
      return binary(data) ? null : data.subarray(0, TEXT_LIMIT).toString();
    },
  },

  StatusCheckRollup: {
    id: ({ sha }) => `SCR_${sha}`,
    state: ({ contexts }) => WORST_FIRST.find((one) => contexts.map(verdict).includes(one)),
    contexts: ({ contexts }) => contexts,
    commit: ({ repo, sha }, _, x) => commit(x, repo, sha),
  },
  StatusCheckRollupContextConnection: {
    checkRunCount: ({ all }) => all.filter((one) => one.__typename === "CheckRun").length,
    statusContextCount: ({ all }) => all.filter((one) => one.__typename === "StatusContext").length,
  },
  CheckRun: {
    id: (run) => `CR_${run.id}`,
    databaseId: tooLong("CheckRun"),
    name: (run) => run.name,
    externalId: (run) => run.external_id,
    status: (run) => upper(run.status),
    conclusion: (run) => upper(run.conclusion),
    startedAt: (run) => run.started_at,
    completedAt: (run) => run.completed_at,
    title: (run) => run.output.title,
    summary: (run) => run.output.summary,
    text: (run) => run.output.text,
    detailsUrl: (run) => run.details_url,
    url: (run, _, x) => `${x.world.url}/${run.repo}/runs/${run.id}`,
    permalink: (run, _, x) => `${x.world.url}/${run.repo}/runs/${run.id}`,
    repository: (run, _, x) => repository(x, run.repo),
    checkSuite: (run, _, x) => x.world.checks.suites.find((one) => one.id === run.suite),
    annotations: (run) => run.annotations,
    isRequired: required,
  },
  CheckAnnotation: {
    path: (note) => note.path,
    message: (note) => note.message,
    title: (note) => note.title,
    rawDetails: (note) => note.raw_details,
    annotationLevel: (note) => upper(note.annotation_level),
    location: (note) => note,
  },
  CheckAnnotationSpan: {
    start: (note) => ({ line: note.start_line, column: note.start_column }),
    end: (note) => ({ line: note.end_line, column: note.end_column ?? null }),
  },
  CheckAnnotationPosition: { line: (at) => at.line, column: (at) => at.column },
  CheckSuite: {
    id: (suite) => `CS_${suite.id}`,
    databaseId: tooLong("CheckSuite"),
    app: (suite) => suite.app,
    // only held ones have a name
    workflowRun: ({ workflow }) => (workflow ? { event: "pull_request", workflow: { name: workflow } } : null),
    checkRuns: (suite, { filterBy }, x) => {
      const { checkName: name, checkType: type } = only(filterBy, "checkName", "checkType") ?? {};
      const runs = x.world.checks.runs.filter((run) => run.suite === suite.id && (!name || run.name === name));
      return type === "LATEST" ? x.world.checks.latest(runs) : runs;
    },
    status: async (suite, _, x) => upper((await suiteView(suite, x)).status),
    conclusion: async (suite, _, x) => upper((await suiteView(suite, x)).conclusion),
    createdAt: (suite) => suite.created_at,
    commit: (suite, _, x) => commit(x, suite.repo, suite.head_sha),
    repository: (suite, _, x) => repository(x, suite.repo),
  },
  WorkflowRun: { workflow: (run) => run.workflow },
  Workflow: { name: (workflow) => workflow.name },
  App: {
    id: (app) => app.node_id,
    databaseId: (app) => app.id,
    slug: (app) => app.slug,
    name: (app) => app.name,
    description: (app) => app.description,
    url: (app) => app.html_url,
  },
  StatusContext: {
    id: (one) => one.node_id,
    context: (one) => one.context,
    state: (one) => upper(one.state),
    description: (one) => one.description,
    targetUrl: (one) => one.target_url,
    createdAt: (one) => one.created_at,
    creator: (one) => actor(one.creator),
    commit: (one, _, x) => commit(x, one.repo, one.sha),
    isRequired: required,
  },

  MergeQueue: {
    id: ({ full, branch }) => `MQ_${full}/${branch}`,
    url: (queue) => queue.url,
    repository: (queue, _, x) => repository(x, queue.full),
    entries: (queue) => queue.entries,
  },
  MergeQueueEntry: {
    id: ({ group, position }) => `MQE_${group.head_sha}_${position}`,
    position: (entry) => entry.position,
    state: () => "AWAITING_CHECKS",
    enqueuedAt: (entry) => entry.at,
    baseCommit: ({ repo, group }, _, x) => commit(x, repo, group.base_sha),
    headCommit: ({ repo, group }, _, x) => commit(x, repo, group.head_sha),
    pullRequest: ({ pr }) => pr,
  },

  AddReactionPayload: {
    clientMutationId: (done) => done.clientMutationId,
    reaction: (done) => done.reaction,
    subject: (done) => done.subject,
  },
  UpdateIssueCommentPayload: {
    clientMutationId: (done) => done.clientMutationId,
    issueComment: (done) => done.issueComment,
  },
  Reaction: {
    id: (one) => one.node_id,
    databaseId: (one) => one.id,
    content: (one) => one.word,
    createdAt: (one) => one.created_at,
    user: (one) => one.user,
  },
};
