// Code scanning: SARIF that is uploaded, and the alerts that follow from the newest of a ref.

import { gunzipSync } from "node:zlib";
import { randomUUID } from "node:crypto";
import { Refusal, json, stamp } from "./http.mjs";
import { need } from "./traffic.mjs";

const MOST_BYTES = 10_000_000; // gzipped, as GitHub's docs say
const MOST_RESULTS = 25_000; // in a run; of these it keeps 5,000
const MOST_RULES = 25_000;
const OFF = "Code Security must be enabled for this repository to use code scanning.";

export class Scanning {
  uploads = []; // {id, repo, commit_sha, ref, tool_name, category, results, sarif}, oldest first
  off = new Set(); // repositories that have no code scanning

  constructor(world) {
    this.world = world;
  }

  routes(table) {
    table.on("POST /repos/:owner/:repo/code-scanning/sarifs", (call, at) => this.upload(call, at.full));
  }

  async upload(call, full) {
    await this.world.mustSee(call, full);
    need(call.owner, "security_events", "write");
    if (this.off.has(full)) throw new Refusal(403, OFF);
    const { commit_sha: sha, ref, sarif, tool_name: tool } = call.json;
    const commit = await this.world.admin("GET", `/repos/${full}/commits/${sha}`).catch(() => null);
    if (!commit) throw new Refusal(422, `No commit found for SHA: ${sha}`);
    const bytes = Buffer.from(sarif, "base64");
    if (bytes.length > MOST_BYTES) throw new Refusal(413, "Payload Too Large");
    const read = unpacked(bytes);
    const [run, more] = read.runs ?? [];
    if (read.version !== "2.1.0" || !run || more) throw new Refusal(400, "Invalid SARIF. One run of version 2.1.0 is expected.");
    if (run.results.length > MOST_RESULTS || run.tool.driver.rules.length > MOST_RULES) throw new Refusal(400, "Invalid SARIF. Too many.");
    const category = run.automationDetails.id.replace(/[^/]*$/, "");
    const results = run.results.map((one) => ({ rule: one.ruleId, level: one.level, ...place(one) }));
    const id = randomUUID();
    this.uploads.push({ id, repo: full, at: stamp(), commit_sha: sha, ref, tool_name: tool, category, results, sarif: read });
    return json({ id, url: `${this.world.url}/repos/${full}/code-scanning/sarifs/${id}` }, 202);
  }

  /** What is open: of each ref, tool and category the results that were uploaded last. */
  alerts(full) {
    const newest = new Map();
    for (const one of this.uploads)
      if (!full || one.repo === full) newest.set([one.repo, one.ref, one.tool_name, one.category].join(" "), one);
    return [...newest.values()].flatMap((one) => one.results.map((result) => ({ ref: one.ref, tool: one.tool_name, ...result })));
  }

  set({ repo, enabled }) {
    this.off[enabled ? "delete" : "add"](repo);
  }
}

function unpacked(bytes) {
  try {
    return JSON.parse(gunzipSync(bytes));
  } catch {
    throw new Refusal(400, "Invalid SARIF. It is not a gzipped JSON text in base64.");
  }
}

function place({ locations }) {
  const { artifactLocation, region } = locations[0].physicalLocation;
  return { path: artifactLocation.uri, line: region.startLine };
}
