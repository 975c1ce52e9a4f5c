// The emulator behind the bench: started on a port of its own, then asked, and heard, inside this process without any port.

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { createServer, get } from "node:http";
import { createEmulator } from "emulate";

const INSIDE = "127.0.0.1";
const SINK = "http://bench/sink"; // nobody listens there

export class Emulator {
  #handle;

  constructor(handle, key) {
    this.#handle = handle;
    this.key = key; // the App's private key, if the seed has none
  }

  /** Starts one that believes that it lives at the bench's URL. What it delivers goes to `take(event, body)`. */
  static async start(seed, tokens, url, take) {
    const people = seed.users.map((login) => ({ login }));
    const admin = [{ login: "admin", role: "admin" }];
    const installations = Object.entries(seed.installations).map(([account, installation_id]) => ({ installation_id, account }));
    const app = { ...seed.app, permissions: { ...seed.permissions, security_events: "write" }, events: ["*"], webhook_url: SINK, installations };
    const github = { users: people, orgs: Object.keys(seed.installations).map((login) => ({ login, members: admin })), apps: [app] };
    const port = await freePort();
    const emulator = await createEmulator({ service: "github", port, baseUrl: url, seed: { tokens, github } });
    takeWhatGoesTo(SINK, take);
    const key = emulator.generatedSecrets.find((one) => one.kind === "github.app_private_key")?.value;
    return new Emulator(await handlerAt(port), key);
  }

  /** One request. Over the port it would take twice the work, and a story asks hundreds of times. */
  ask(method, path, headers, body) {
    return new Promise((resolve, reject) => {
      // It takes the request for the body's stream. Bytes are a body too.
      const sent = ["GET", "HEAD"].includes(method) ? "" : (body ?? "");
      const call = Object.assign(Buffer.from(sent), { method, url: path, headers: { host: INSIDE, ...headers } });
      this.#handle(call, new Answer(resolve, reject));
    });
  }
}

/** What the emulator knows of node's answer to a client. */
class Answer {
  statusCode = 200;
  #headers = {};
  #parts = [];

  constructor(resolve, reject) {
    Object.assign(this, { resolve, destroy: reject });
  }

  setHeader(name, value) {
    this.#headers[name.toLowerCase()] = value;
  }

  write(part) {
    return this.#parts.push(part);
  }

  end(part) {
    if (part !== undefined) this.#parts.push(Buffer.from(part));
    this.resolve({ status: this.statusCode, headers: this.#headers, bytes: Buffer.concat(this.#parts) });
  }
}

/** The emulator does not hand out what answers its requests; node tells it with the first of them. */
async function handlerAt(port) {
  let handler;
  const see = ({ server }) => {
    if (server.address().port === port) [handler] = server.listeners("request");
  };
  subscribe("http.server.request.start", see);
  const [answer] = await once(get({ host: INSIDE, port, path: "/meta", agent: false }), "response");
  answer.resume();
  unsubscribe("http.server.request.start", see);
  return handler;
}

/** The emulator delivers by `fetch`: over the wire that would be a second request for each that it is asked. */
function takeWhatGoesTo(address, take) {
  const outside = globalThis.fetch;
  globalThis.fetch = (to, order) => {
    if (to !== address) return outside(to, order);
    take(order.headers["X-GitHub-Event"], order.body);
    return Promise.resolve(new Response(null, { status: 204 }));
  };
}

/** A port below those that the kernel gives to whoever asks for any: nobody gets it between here and its use. */
async function freePort() {
  const candidate = 20_000 + Math.floor(Math.random() * 12_000);
  const server = createServer();
  const isFree = await new Promise((resolve) => {
    server.once("error", () => resolve(false)).listen(candidate, INSIDE, () => resolve(true));
  });
  if (!isFree) return freePort();
  await new Promise((resolve) => server.close(resolve));
  return candidate;
}
