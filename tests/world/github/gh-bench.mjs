#!/usr/bin/env node
// gh-bench: a stateful GitHub on loopback, for Assay's tests.
//
//   python tests/world/install.py            (npm ci, when needed; git must be on the PATH)
//   node gh-bench.mjs --port 0 [--webhook http://127.0.0.1:8000/github/webhooks] [--secret s3cret] [--seed seed.json]
//     [--others '{"globex": 200}']     (more organizations that installed the App, and their installations' ids)
//
// When ready it prints one JSON line:
//   {"url", "port", "pid", "app_id", "app_slug", "private_key", "webhook_secret", "installation_id", "org", "tokens": {login: token}}
// and it ends when its standard input closes (so it never outlives a test run), or on SIGTERM.
//
// The GitHub side is plain REST at the root (also under /api/v3) and POST /graphql: give `url` to the product as
// ASSAY_GITHUB_API_URL. People act through the same REST with their token ("bench-alice" administers,
// "bench-bob" writes, "bench-mallory" is a stranger, "bench-copilot-swe-agent[bot]" is an agent,
// "bench-dependabot[bot]" is a bot that is none).
// Everything that is not REST (pushes, CI, buttons, faults, assertions) is a verb under /_bench: see gh/verbs.mjs.
//
// Who does what: `emulate` keeps users, repositories, git objects, issues, comments, labels, reviews, App JWTs and
// installation tokens. The files in gh/ add what it lacks, or has too simply:
//   world    what all share            door    one request
//   emulator the one behind, asked without a wire
//   traffic  credentials, rate limit, ETag, faults        checks  check runs, suites, statuses, the limits
//   pulls    moving heads, diffs, merge gate              hooks   signed deliveries
//   installations  the App from a manifest, what was granted it
//   people   reactions, permissions, App endpoints        git     real diffs       verbs   /_bench/...
//   scanning SARIF that is uploaded, and its alerts       moves   repositories under another name or owner
//   graphql  queries against GitHub's own schema; its answers are in graphql-fields and -things, its errors in graphql-words

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { parseArgs } from "node:util";
import { serve } from "./gh/door.mjs";
import { Emulator } from "./gh/emulator.mjs";
import { Hooks } from "./gh/hooks.mjs";
import { Routes } from "./gh/http.mjs";
import { verbs } from "./gh/verbs.mjs";
import { ADMINS, World } from "./gh/world.mjs";

const SEED = {
  org: "acme",
  app: { app_id: 4711, slug: "assay", name: "Assay" },
  installation_id: 100,
  users: ["alice", "bob", "mallory", "copilot-swe-agent[bot]", "dependabot[bot]"],
  permissions: {
    checks: "write",
    contents: "read",
    issues: "write",
    pull_requests: "write",
    metadata: "read",
    statuses: "read",
    actions: "read",
    merge_queues: "read",
  },
  events: [
    "pull_request",
    "issue_comment",
    "issues",
    "check_run",
    "check_suite",
    "status",
    "push",
    "merge_group",
    "pull_request_review",
    "pull_request_review_comment",
    "workflow_run",
  ],
};

const port = (server) => server.address().port;
const listening = (server, at) => new Promise((resolve) => server.listen(at, "127.0.0.1", resolve));

function options() {
  const { values } = parseArgs({
    options: {
      port: { type: "string", default: "0" },
      webhook: { type: "string" },
      secret: { type: "string", default: "bench-secret" },
      seed: { type: "string" }, // a JSON file whose fields replace those of SEED
      others: { type: "string", default: "{}" },
    },
  });
  const more = values.seed ? JSON.parse(readFileSync(values.seed, "utf8")) : {};
  const seed = { ...SEED, ...more, app: { ...SEED.app, ...more.app } };
  return { ...values, seed: { ...seed, installations: { [seed.org]: seed.installation_id, ...JSON.parse(values.others) } } };
}

async function main() {
  const { seed, secret, webhook, port: wanted } = options();
  let handle = (req, res) => res.writeHead(503).end();
  const server = createServer((req, res) => handle(req, res));
  await listening(server, Number(wanted));
  const url = `http://127.0.0.1:${port(server)}`;

  const people = seed.users.map((login) => [`bench-${login}`, { login, scopes: ["repo"] }]);
  const admins = ADMINS.map((token) => [token, { login: "admin", scopes: ["repo", "admin:org"] }]);
  const deliver = (event, body) => world.relay(event, body);
  const emulator = await Emulator.start(seed, Object.fromEntries([...people, ...admins]), url, deliver);
  seed.app.private_key ??= emulator.key;
  const hooks = new Hooks({
    url: webhook,
    secret,
    appId: seed.app.app_id,
    installationId: seed.installation_id,
    installations: seed.installations,
    events: seed.events,
  });
  const world = new World(seed, url, hooks);
  world.emulator = emulator;
  world.tokens.keys = [seed.app.private_key];
  const routes = new Routes();
  verbs(world, routes);
  for (const part of [world.checks, world.pulls, world.people, world.installations, world.scanning, world.graphql]) part.routes(routes);
  handle = (req, res) =>
    serve(world, routes, req, res).catch((error) => {
      console.error(error);
      res.destroy();
    });

  const stop = () => {
    world.git.close();
    process.exit(0);
  };
  process.on("SIGTERM", stop).on("SIGINT", stop);
  process.stdin.on("end", stop).resume();
  const { app_id, slug: app_slug, private_key } = seed.app;
  const tokens = Object.fromEntries(seed.users.map((login) => [login, `bench-${login}`]));
  const { installation_id, org } = seed;
  console.log(
    JSON.stringify({
      url,
      port: port(server),
      pid: process.pid,
      app_id,
      app_slug,
      private_key,
      webhook_secret: secret,
      installation_id,
      org,
      tokens,
    }),
  );
}

await main();
