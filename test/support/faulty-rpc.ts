/** A JSON-RPC proxy that loses, repeats and withholds what goes through it, as a test says. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Transaction } from 'ethers';

export type Fault =
  /** The call never arrives. */
  | 'lose request'
  /** It arrives, and is done; the answer does not come back. */
  | 'lose answer'
  /** It arrives twice. */
  | 'repeat';

/** As the node gives it. */
interface Answer {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

interface Call {
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly string[];
}

interface RpcRequest {
  /** Of all requests, from 0. */
  readonly count: number;
  /** It holds a transaction that was not sent before. */
  readonly isNewTransaction: boolean;
}

export interface FaultyRpc {
  readonly url: string;
  /** Which fault strikes a request; null: none. */
  strike: (request: RpcRequest) => Fault | null;
  /** Another node's answer to a call. @param pass  the real one's */
  speak: (call: Call, pass: () => Promise<Answer>) => Promise<Answer>;
  /** So many transactions are taken and kept, then passed on, the latest first. */
  holds: number;
  /** Faults that struck, by name. */
  readonly struck: Map<Fault | 'withheld', number>;
  stop(): Promise<void>;
}

export async function startFaultyRpc(target: string): Promise<FaultyRpc> {
  const seen = new Set<string>();
  let count = 0;
  const withheld: Call[] = [];
  const proxy = {
    strike: () => null,
    holds: 0,
    speak: (_, pass) => pass(),
    struck: new Map(),
  } as Partial<FaultyRpc> as FaultyRpc & {
    -readonly [K in keyof FaultyRpc]: FaultyRpc[K];
  };
  const forward = async (call: Call): Promise<Answer> => {
    const headers = { 'content-type': 'application/json' };
    return (await fetch(target, { method: 'POST', headers, body: JSON.stringify(call) })).json() as Promise<Answer>;
  };
  const note = (fault: Fault | 'withheld'): void => void proxy.struck.set(fault, (proxy.struck.get(fault) ?? 0) + 1);

  async function release(): Promise<void> {
    proxy.holds = 0;
    for (const call of withheld.splice(0).reverse()) await forward(call);
  }

  async function answer(call: Call): Promise<unknown> {
    const { id, method, params } = call;
    if (proxy.holds === 0 || method !== 'eth_sendRawTransaction') {
      return { jsonrpc: '2.0', id, ...(await proxy.speak(call, () => forward(call))) };
    }
    note('withheld');
    if (!withheld.some((other) => other.params[0] === params[0])) withheld.push(call);
    if (withheld.length === proxy.holds) await release();
    // A node that took the transaction answers with its hash, which whoever signed it knows.
    return { jsonrpc: '2.0', id, result: Transaction.from(params[0]!).hash };
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = JSON.parse(await textOf(request)) as Call | Call[];
    const calls = Array.isArray(asked) ? asked : [asked];
    const sent = calls.filter(({ method }) => method === 'eth_sendRawTransaction').map(({ params }) => params[0]!);
    const fault = proxy.strike({ count: count++, isNewTransaction: sent.some((raw) => !seen.has(raw)) });
    for (const raw of sent) seen.add(raw);
    if (fault !== null) note(fault);
    if (fault === 'lose request') return void response.destroy();
    const answers: unknown[] = [];
    for (const call of calls) answers.push(await answer(call));
    if (fault === 'repeat') for (const call of calls) await answer(call);
    if (fault === 'lose answer') return void response.destroy();
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(Array.isArray(asked) ? answers : answers[0]));
  }

  const server = createServer((request, response) => {
    respond(request, response).catch(() => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(proxy, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  });
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}
