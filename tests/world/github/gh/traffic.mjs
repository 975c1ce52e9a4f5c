// What GitHub does to every request: credentials, rate limit, ETag; and the faults a test orders.

import { createHash, createPublicKey, verify } from "node:crypto";
import { Refusal, invalid, json } from "./http.mjs";

const LIMIT = 5000;
const now = () => Math.floor(Date.now() / 1000);

/** Who a token is. The emulator lets unknown tokens in as an administrator; GitHub does not, nor do we. */
export class Tokens {
  #known = new Map();
  keys = []; // the App's private keys that were not taken back, as PEM

  add(token, owner) {
    this.#known.set(token, owner);
  }

  expireInstallations() {
    for (const [token, owner] of this.#known) if (owner.kind === "installation") this.#known.delete(token);
  }

  owner(call) {
    if (!call.token) return { kind: "anonymous", name: "anonymous" };
    if (call.token.startsWith("eyJ")) return this.#jwt(call.token);
    const owner = this.#known.get(call.token);
    if (!owner) throw new Refusal(401, "Bad credentials");
    return owner;
  }

  #jwt(token) {
    let claims = {};
    try {
      claims = JSON.parse(Buffer.from(token.split(".")[1], "base64url"));
    } catch {
      /* refused below */
    }
    if (!this.#isSigned(token)) throw new Refusal(401, "A JSON web token could not be decoded");
    if (!(claims.exp > now()))
      throw new Refusal(
        401,
        "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
      );
    if (claims.exp > now() + 600) throw new Refusal(401, "'Expiration time' claim ('exp') is too far in the future");
    if (claims.iat > now() + 60)
      throw new Refusal(401, "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued");
    return { kind: "app", name: `app:${claims.iss}`, app: Number(claims.iss) };
  }

  #isSigned(token) {
    const [head, body, signature] = token.split(".");
    const bytes = Buffer.from(`${head}.${body}`);
    return this.keys.some((pem) => verify("RSA-SHA256", bytes, createPublicKey(pem), Buffer.from(signature ?? "", "base64url")));
  }
}

const RANK = { read: 1, write: 2, admin: 3 };

/** Whether these permissions hold that one at this level. */
export const holds = (permissions, permission, level) => RANK[permissions[permission]] >= RANK[level];

/** Refuses as GitHub does when an installation lacks a permission. */
export function need(owner, permission, level = "read") {
  if (owner.kind === "installation" && !holds(owner.permissions, permission, level)) {
    throw new Refusal(403, "Resource not accessible by integration");
  }
}

export class RateLimit {
  #buckets = new Map();

  bucket(name) {
    let bucket = this.#buckets.get(name);
    if (!bucket || bucket.reset <= now()) this.#buckets.set(name, (bucket = { remaining: LIMIT, used: 0, reset: now() + 3600 }));
    return bucket;
  }

  set(name, { remaining, reset_in: resetIn = 3600 }) {
    Object.assign(this.bucket(name), { remaining, used: LIMIT - remaining, reset: now() + resetIn });
  }

  take(name) {
    const bucket = this.bucket(name);
    if (bucket.remaining <= 0) throw new Refusal(403, `API rate limit exceeded for ${name}.`);
    bucket.remaining--;
    bucket.used++;
  }

  giveBack(name) {
    this.bucket(name).remaining++;
    this.bucket(name).used--;
  }

  headers(name, resource) {
    const { remaining, used, reset } = this.bucket(name);
    return {
      "x-ratelimit-limit": String(LIMIT),
      "x-ratelimit-remaining": String(remaining),
      "x-ratelimit-used": String(used),
      "x-ratelimit-reset": String(reset),
      "x-ratelimit-resource": resource,
    };
  }

  view(name) {
    const core = { limit: LIMIT, ...this.bucket(name) };
    return json({ resources: { core, search: core, graphql: core }, rate: core });
  }
}

// GitHub lets a client keep an answer for a minute without asking: a trap for whoever wants the newest head.
const CACHING = { "cache-control": "private, max-age=60, s-maxage=60", vary: "Accept, Authorization, Cookie, X-GitHub-OTP" };

/**
 * Adds an ETag to a good GET, and turns it into a 304 when the caller has it already. Each credential has ETags of its own, as
 * GitHub's support says (eclipse-csi/otterdog#201): what an installation's last token was told is worth nothing to its next one.
 */
export function conditional(call, reply) {
  if (call.method !== "GET" || reply.status !== 200) return reply;
  const isText = typeof reply.body === "string" || Buffer.isBuffer(reply.body);
  const bytes = isText ? reply.body : JSON.stringify(reply.body);
  const etag = `W/"${createHash("sha256").update(call.token ?? "").update("\0").update(bytes).digest("hex")}"`;
  const headers = { ...reply.headers, etag, ...CACHING };
  return call.headers["if-none-match"] === etag ? { status: 304, body: null, headers } : { ...reply, headers };
}

const SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";

/** Faults: the next `count` requests whose "METHOD /path", or "POST /graphql QueryName", matches the regular expression `match`. */
export class Faults {
  #orders = [];

  add({ match = "", kind = "status", count = 1, status = 502, body, retry_after: retryAfter, ms = 60_000, after = false }) {
    const made = {
      status: { status, body: body ?? { message: "Server Error" } },
      secondary: { status: 403, body: { message: SECONDARY, documentation_url: "https://docs.github.com/rest" } },
      primary: {
        status: 403,
        body: { message: "API rate limit exceeded for installation." },
        headers: { "x-ratelimit-remaining": "0" },
      },
    }[kind];
    if (!made && !["timeout", "slow", "reset"].includes(kind)) throw invalid(`no fault is called ${kind}`);
    const headers = { ...made?.headers, ...(retryAfter === undefined ? {} : { "retry-after": String(retryAfter) }) };
    this.#orders.push({ regex: new RegExp(match), kind, left: count, ms, after, reply: made && { ...made, headers } });
  }

  /** after: true does the work first and loses the answer, the worst case for a caller that retries. */
  take(call) {
    const line = `${call.method} ${call.path}`;
    const named = `${line} ${call.graphql?.name ?? ""}`.trim();
    const order = this.#orders.find((one) => one.left > 0 && (one.regex.test(line) || one.regex.test(named)));
    if (order) order.left--;
    return order ?? null;
  }

  clear() {
    this.#orders = [];
  }
}
