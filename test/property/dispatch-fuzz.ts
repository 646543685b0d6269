/**
 * Mutates the frames of dispatch by a seed, as bytes and member by member, and sends them to a control plane: each is answered,
 * with a coded problem where it is refused; none is taken whose key, claim or signed content is not genuine.
 */
import { isProblem, type Pattern } from '#libs/wire';
import type { EvidenceAppraiser } from '../../apps/control-plane/src/evidence/evidence-appraiser.js';
import { startTestPlane, type TestPlane } from '../../apps/control-plane/test/harness.js';
import { register } from '../../apps/control-plane/test/job-fixture.js';
import { isBoundSame } from './bound.js';
import { dispatchMakers, ProofAppraiser, type DispatchMessage, type MessageMaker } from './dispatch-scene.js';
import { framed, openLine, type FrameAnswer, type FrameLine } from './frame-line.js';
import { fuzz, type FuzzReport, type OnProgress, type Verdict } from './fuzz.js';
import { mutantOf } from './mutants.js';
import { treeMutant } from './tree-mutants.js';

/** Mutants until what the harness keeps of its log is forgotten. */
const logsEvery = 1000;
/** What the rest of a frame that announces more than it brings is waited for. */
const restMilliseconds = 100;

interface Sent {
  readonly pattern?: unknown;
  readonly data?: unknown;
}

function verdictOn(answer: FrameAnswer | null, { pattern, data }: Sent, genuine: DispatchMessage): Verdict {
  if (answer === null) return 'no answer';
  if (answer.err != null) {
    const { err } = answer;
    if (!isProblem(err)) return `refused without a code: ${JSON.stringify(err)}`;
    return err.status < 500 ? 'refused' : `refused with ${err.code}`;
  }
  if (pattern !== genuine.pattern) return 'taken';
  return isBoundSame(genuine.bound, data, genuine.data) ? 'taken' : 'accepted';
}

/** Whole frames, one after the other on one line. */
async function asked(line: FrameLine, sent: Sent, id: string, genuine: DispatchMessage): Promise<Verdict> {
  const answer = line.answer(id);
  line.send(framed(JSON.stringify({ ...sent, id })));
  return verdictOn(await answer, sent, genuine);
}

/** Any bytes on a line of their own, and a question behind them that is answered where the framing held. */
async function thrown(port: number, bytes: Uint8Array, id: string, genuine: DispatchMessage): Promise<Verdict> {
  const line = await openLine(port);
  const [own, next] = [line.answer(id, restMilliseconds), line.answer('next', restMilliseconds)];
  line.send(bytes);
  line.send(framed(JSON.stringify({ pattern: 'no.such.v1', data: {}, id: 'next' })));
  const [answer] = await Promise.all([own, next]);
  await line.end();
  return answer === null ? 'refused' : verdictOn(answer, sentIn(bytes) ?? {}, genuine);
}

/** What a frame says; null where it holds no JSON. */
function sentIn(frame: Uint8Array): Sent | null {
  const text = Buffer.from(frame).toString();
  const from = text.indexOf('#') + 1;
  try {
    return Object(JSON.parse(text.slice(from, from + Number.parseInt(text, 10)))) as Sent;
  } catch {
    return null;
  }
}

interface DispatchOptions {
  /** Messages of this pattern alone. */
  readonly only?: Pattern;
  /** What the control plane appraises with. */
  readonly appraiser?: EvidenceAppraiser;
}

class Dispatch {
  #line: FrameLine | null = null;

  private constructor(
    private readonly test: TestPlane,
    private readonly makers: readonly MessageMaker[],
    private readonly messages: (DispatchMessage | undefined)[],
  ) {}

  static async start({ only, appraiser = new ProofAppraiser() }: DispatchOptions): Promise<Dispatch> {
    const test = await startTestPlane({ jobsUnderWayMax: 1e6, jobsWaitingMax: 1e6 }, { appraiser });
    const makers = await dispatchMakers(test);
    return new Dispatch(
      test,
      makers.filter(({ pattern }) => only === undefined || pattern === only),
      [],
    );
  }

  /** @returns which of the messages it is, too */
  async messageAt(any: number): Promise<readonly [message: DispatchMessage, at: number]> {
    const at = any % this.makers.length;
    return [(this.messages[at] ??= await this.makers[at]!.make()), at];
  }

  async ask(sent: Sent, id: string, genuine: DispatchMessage): Promise<Verdict> {
    const verdict = await asked(await this.#open(), sent, id, genuine);
    // A line on which no key was accepted in time is closed: what is sent just then is answered on the next one.
    return verdict === 'no answer' && !this.#line!.isOpen ? asked(await this.#open(), sent, id, genuine) : verdict;
  }

  async #open(): Promise<FrameLine> {
    if (this.#line?.isOpen !== true) this.#line = await openLine(this.test.plane.dispatchPort);
    return this.#line;
  }

  throwAt(bytes: Uint8Array, id: string, genuine: DispatchMessage): Promise<Verdict> {
    return thrown(this.test.plane.dispatchPort, bytes, id, genuine);
  }

  /** What was taken has changed the job that it is about: the next such message gets another. */
  settle(verdict: Verdict, at: number, isSilent = false): Verdict {
    if (isSilent || verdict === 'taken' || verdict === 'accepted') this.messages[at] = undefined;
    return verdict;
  }

  forgetLogs(): void {
    this.test.logs.length = 0;
  }

  /** It still serves whoever speaks as it should. */
  async stop(): Promise<void> {
    await register(this.test, 'afterwards');
    await this.#line?.end();
    await this.test.stop();
  }
}

/** @param count mutants, one in eight of a frame's bytes */
export async function fuzzDispatch(
  count: number,
  seed: number,
  onProgress?: OnProgress,
  options: DispatchOptions = {},
): Promise<FuzzReport> {
  const dispatch = await Dispatch.start(options);
  const trialOf: Parameters<typeof fuzz>[2] = async (draw, k) => {
    if (k % logsEvery === 0) dispatch.forgetLogs();
    const [genuine, at] = await dispatch.messageAt(draw(2 ** 16));
    const { pattern, data } = genuine;
    const id = `fuzz-${k}`;
    if (draw(8) === 0) {
      const bytes = mutantOf(Buffer.from(framed(JSON.stringify({ pattern, data, id }))), draw);
      // Under another id the answer is not seen.
      const run = async (): Promise<Verdict> =>
        dispatch.settle(await dispatch.throwAt(bytes, id, genuine), at, sentIn(bytes) !== null);
      return { target: `bytes of ${pattern}`, input: () => Buffer.from(bytes).toString('hex'), run };
    }
    const whole = draw(16) === 0;
    const mutant = Object(treeMutant(whole ? { pattern, data } : data, draw)) as Sent;
    const sent: Sent = whole ? { pattern: mutant.pattern, data: mutant.data } : { pattern, data: mutant };
    const run = async (): Promise<Verdict> => dispatch.settle(await dispatch.ask(sent, id, genuine), at);
    return { target: pattern, input: () => JSON.stringify(sent), run };
  };
  const report = await fuzz(count, seed, trialOf, onProgress);
  await dispatch.stop();
  return report;
}
