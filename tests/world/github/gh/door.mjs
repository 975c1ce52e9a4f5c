// The front door: faults first, then credentials, limits, a handler or the emulator, and a line in the log.

import { limited, peek } from "./graphql.mjs";
import { Refusal, json, notFound, readCall } from "./http.mjs";
import { conditional } from "./traffic.mjs";

const LOG_LENGTH = 10_000;

export async function serve(world, routes, req, res) {
  const call = await readCall(req);
  call.path = world.moves.path(call.path);
  call.graphql = peek(call);
  if (call.path.startsWith("/_bench/")) return write(res, await attempt(routes.find(call) ?? nowhere));
  try {
    call.owner = world.tokens.owner(call);
  } catch (refusal) {
    Object.assign(call, { refused: refusal, owner: { name: "unknown" } });
  }
  await world.traps.spring(call, req.socket, false);
  const fault = world.faults.take(call);
  const works = !fault || fault.after || fault.kind === "slow";
  const good = works ? await attempt(() => answer(world, routes, call)) : null;
  const plain = fault ? await misbehave(fault, good, res) : good;
  const reply = call.graphql ? limited(plain) : plain;
  world.log.push(entry(call, reply, fault));
  if (world.log.length > LOG_LENGTH) world.log.shift();
  await world.traps.spring(call, req.socket, true);
  const counted = world.rate.headers(call.owner.name, call.graphql ? "graphql" : "core");
  if (reply) write(res, { ...reply, headers: { ...counted, ...reply.headers } });
}

function nowhere() {
  throw notFound();
}

function entry({ owner, method, path, search, raw, graphql }, reply, fault) {
  const { status = null, body: received = null, headers } = reply ?? {};
  const type = headers?.["content-type"] ?? "application/json";
  return {
    at: Date.now(),
    name: owner.name,
    method,
    path,
    query: search,
    sent: raw.toString(),
    status,
    received: Buffer.isBuffer(received) ? received.toString() : received,
    type,
    operation: graphql?.name ?? null, // the name of a GraphQL query, and the repositories it is about
    repos: [...(graphql?.repos ?? [])],
    fault: fault?.kind ?? null,
  };
}

async function answer(world, routes, call) {
  if (call.refused) throw call.refused;
  const { name } = call.owner;
  if (call.path !== "/rate_limit") world.rate.take(name);
  const reply = (await world.moves.answer(call)) ?? (await (routes.find(call) ?? (() => world.forward(call)))());
  const final = conditional(call, reply);
  if (final.status === 304) world.rate.giveBack(name);
  return final;
}

async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal) return error.reply;
    console.error(error);
    return json({ message: `gh-bench: ${error.message}` }, 500);
  }
}

async function misbehave({ kind, ms, reply: ordered }, reply, res) {
  if (kind === "reset") return void res.socket?.resetAndDestroy();
  if (kind === "timeout" || kind === "slow")
    await new Promise((resolve) => {
      setTimeout(resolve, ms);
      res.once("close", resolve);
    });
  if (kind === "timeout") return void res.destroy();
  return kind === "slow" ? reply : ordered;
}

function write(res, { status, body, headers = {} }) {
  if (res.destroyed) return;
  const isText = typeof body === "string" || Buffer.isBuffer(body);
  const bytes = isText ? body : body === null || body === undefined ? "" : JSON.stringify(body);
  const type = isText ? "text/plain; charset=utf-8" : "application/json; charset=utf-8";
  res.writeHead(status, { "content-type": type, "x-github-request-id": "BENCH", ...headers }).end(bytes);
}
