/**
 * Mutates the bodies, and the keys, of REST requests to a control plane and a key broker by a seed: each is answered, with a
 * problem that has a code where it is refused and never with a failure of the server; none is taken whose key, or content that
 * a digest or signature binds, is not genuine.
 */
import { equalBytes } from '#attestation/base';
import { startTestPlane, type TestPlane } from '../../apps/control-plane/test/harness.js';
import type { Escrows } from '../../apps/key-broker/src/escrow.js';
import { isBoundSame } from './bound.js';
import { brokerScene, type BrokerScene } from './broker-scene.js';
import { fuzz, type FuzzReport, type OnProgress, type Verdict } from './fuzz.js';
import { openHttp, type HttpAnswer, type HttpLine } from './http-line.js';
import { mutantOf } from './mutants.js';
import type { Draw } from './random.js';
import { controlPlaneMakers, type RequestMaker, type RestRequest } from './rest-scene.js';
import { treeMutant } from './tree-mutants.js';

/** Nonces are spent and jobs change: each request serves so many mutants. */
const usesMax = 10;
/** Mutants until what the harness keeps of its log is forgotten. */
const logsEvery = 1000;
const code = /^[A-Z][A-Z0-9_]{2,63}$/;

interface Mutant {
  readonly body: Uint8Array;
  /** In place of the genuine one. */
  readonly key?: string;
}

const bytesOf = (body: unknown): Uint8Array =>
  body instanceof Uint8Array ? body : Buffer.from(JSON.stringify(body) ?? '');

function mutantOfRequest({ body, headers }: RestRequest, draw: Draw): Mutant {
  const genuine = bytesOf(body);
  const { authorization } = headers;
  if (authorization !== undefined && draw(16) === 0) return { body: genuine, key: printable(authorization, draw) };
  if (body instanceof Uint8Array || draw(4) === 0) return { body: mutantOf(genuine, draw) };
  return { body: bytesOf(treeMutant(body, draw)) };
}

/** What a header may hold; another key than the genuine one. */
function printable(authorization: string, draw: Draw): string {
  for (;;) {
    const bytes = mutantOf(Buffer.from(authorization), draw).map((byte) => 32 + ((byte & 127) % 95));
    const mutant = Buffer.from(bytes).toString().trim();
    if (mutant.replace(/^bearer +/i, '') !== authorization.replace('Bearer ', '')) return mutant;
  }
}

function isGenuine({ body, bound }: RestRequest, mutant: Mutant): boolean {
  if (mutant.key !== undefined) return false;
  if (bound === 'bytes') return equalBytes(bytesOf(body), mutant.body);
  if (typeof bound === 'function') return bound(parsed(mutant.body));
  return bound.length === 0 || isBoundSame(bound, parsed(mutant.body), body);
}

function parsed(json: Uint8Array | string): unknown {
  try {
    return JSON.parse(Buffer.from(json).toString());
  } catch {
    return undefined;
  }
}

function verdictOn(answer: HttpAnswer, isTaken: () => boolean): Verdict {
  const { status, type, text } = answer;
  const body = parsed(text) as { code?: unknown; errors?: { extensions?: { code?: unknown } }[] } | undefined;
  const isGraphql = /graphql|application\/json/.test(type) && Array.isArray(body?.errors);
  const said = String(isGraphql ? body?.errors?.[0]?.extensions?.code : body?.code);
  if (status >= 500 || status === 429 || said.startsWith('INTERNAL')) return `answered ${status} ${said}`;
  if (status < 400 && !isGraphql) return isTaken() ? 'taken' : 'accepted';
  const isProblem = isGraphql || type.startsWith('application/problem+json');
  return isProblem && code.test(said) ? 'refused' : `refused without a code: ${status} ${type} ${text.slice(0, 200)}`;
}

interface RestOptions {
  /** Requests of this route alone. */
  readonly only?: string;
  /** The chain that the key broker asks, made of the one that is. */
  readonly escrow?: (real: Escrows) => Escrows;
}

class Servers {
  readonly #requests: ({ readonly request: RestRequest; uses: number } | undefined)[] = [];

  private constructor(
    private readonly plane: TestPlane,
    private readonly broker: BrokerScene,
    private readonly makers: readonly RequestMaker[],
    private readonly http: HttpLine,
  ) {}

  static async start({ only, escrow = (real) => real }: RestOptions): Promise<Servers> {
    const room = { jobsWaitingMax: 1e6, jobsUnderWayMax: 1e6, requestsPerMinute: 1e9, addressRequestsPerMinute: 1e9 };
    const plane = await startTestPlane(room);
    const broker = await brokerScene(escrow);
    const makers = [...controlPlaneMakers(plane), ...broker.makers].filter(
      ({ name }) => only === undefined || name === only,
    );
    return new Servers(plane, broker, makers, openHttp());
  }

  async requestAt(any: number): Promise<readonly [request: RestRequest, at: number]> {
    const at = any % this.makers.length;
    const kept = (this.#requests[at] ??= { request: await this.makers[at]!.make(), uses: 0 });
    kept.uses += 1;
    if (kept.uses === usesMax) this.#requests[at] = undefined;
    return [kept.request, at];
  }

  async ask(request: RestRequest, at: number, mutant: Mutant, id: string): Promise<Verdict> {
    const own = { 'idempotency-key': id, ...(mutant.key !== undefined && { authorization: mutant.key }) };
    const answer = await this.http.send({ ...request, headers: { ...request.headers, ...own } }, mutant.body);
    const verdict = verdictOn(answer, () => isGenuine(request, mutant));
    if (verdict !== 'refused') this.#requests[at] = undefined;
    return verdict;
  }

  forgetLogs(): void {
    this.plane.logs.length = 0;
  }

  /** They still serve whoever asks as it should. */
  async stop(): Promise<void> {
    await this.plane.as('client').get('/v1/jobs').expect(200);
    this.http.close();
    await this.broker.stop();
    await this.plane.stop();
  }
}

/** @param count mutants */
export async function fuzzRest(
  count: number,
  seed: number,
  onProgress?: OnProgress,
  options: RestOptions = {},
): Promise<FuzzReport> {
  const servers = await Servers.start(options);
  const trialOf: Parameters<typeof fuzz>[2] = async (draw, k) => {
    if (k % logsEvery === 0) servers.forgetLogs();
    const [request, at] = await servers.requestAt(draw(2 ** 16));
    const mutant = mutantOfRequest(request, draw);
    return {
      target: `${request.method} ${request.path}`,
      input: () => `${mutant.key ?? ''} ${Buffer.from(mutant.body).toString('latin1')}`,
      run: () => servers.ask(request, at, mutant, `fuzz-${k}`),
    };
  };
  const report = await fuzz(count, seed, trialOf, onProgress);
  await servers.stop();
  return report;
}
