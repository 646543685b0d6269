/** The prover as a process of the prover worker's code; it speaks JSON on its standard streams. */
import { ConfigurationError, reportedError } from '#attestation/base';
import { startWorker, workerFailed } from './worker-process.js';

/** What is told of every proof. */
interface ProofFigures {
  readonly profile: string;
  readonly proofBytes: number;
  readonly statementDigest: string;
  readonly proveCpuSeconds: number;
  readonly proveWallSeconds: number;
  readonly peakBytes: number;
  readonly soundnessBits: number;
  readonly soundnessSumBits: number;
}

export interface ProveReport extends ProofFigures {
  readonly backend: string;
  readonly choice: { readonly why: readonly string[] };
  readonly segments: number;
  readonly phases: Readonly<Record<string, number>>;
  readonly stateDigestBefore: string;
  readonly stateDigestAfter: string;
}

/** What is told of a statement about a set of records. */
export interface AccuracyReport extends ProofFigures {
  readonly records: number;
  readonly correct: number;
  readonly parts: number;
  readonly weightsDigest: string;
  readonly setRoot: string;
  readonly openings: { readonly budget: number; readonly weights: number };
  readonly stateDigest: string;
}

interface Proved<R> {
  readonly report: R;
  readonly proof: Uint8Array;
  /** Text of the statement document. */
  readonly statement: string;
}

interface Answer<R> {
  readonly report?: R;
  readonly proof?: string;
  readonly statement?: string;
  readonly error?: Record<string, string>;
}

/**
 * Runs the prover to its end. Ctrl-C and SIGTERM end it and are reported as CANCELLED.
 *
 * @throws CodedError as the prover reports it; ConfigurationError PROVER_FAILED, CANCELLED
 */
export async function runProver<R = ProveReport>(request: object, onLine: (line: string) => void): Promise<Proved<R>> {
  const child = startWorker('prove-main');
  let cancelled = false;
  const cancel = (): void => {
    cancelled = true;
    child.kill('SIGKILL');
  };
  process.once('SIGINT', cancel).once('SIGTERM', cancel);
  try {
    child.stdin.on('error', () => undefined).end(JSON.stringify(request));
    const faults = followProgress(child.stderr, onLine);
    const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
    const chunks: Buffer[] = [];
    for await (const chunk of child.stdout) chunks.push(chunk as Buffer);
    await closed;
    if (cancelled) throw cancelledError();
    const answer = JSON.parse(Buffer.concat(chunks).toString('utf8') || '{}') as Answer<R>;
    if (answer.error !== undefined) throw reportedError({ code: 'PROVER_FAILED', ...answer.error });
    const { report, proof, statement } = answer;
    if (report === undefined || proof === undefined || statement === undefined) {
      throw workerFailed(faults.text());
    }
    return { report, proof: new Uint8Array(Buffer.from(proof, 'base64')), statement };
  } finally {
    process.removeListener('SIGINT', cancel).removeListener('SIGTERM', cancel);
  }
}

/** Progress lines as words; what is no progress is kept for the report of a failure. */
function followProgress(stream: NodeJS.ReadableStream, onLine: (line: string) => void): { text(): string } {
  let rest = '';
  let other = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const words = progressWords(line);
      if (words === null) other = `${other}${line}\n`.slice(-4096);
      else onLine(words);
    }
  });
  return { text: () => other };
}

function progressWords(line: string): string | null {
  if (!line.startsWith('{')) return null;
  try {
    const { phase, percent, etaSeconds } = JSON.parse(line) as Record<string, string | number | null>;
    return `${String(percent).padStart(3)} %  ${phase}${etaSeconds === null ? '' : `, about ${etaSeconds} s left`}`;
  } catch {
    return null;
  }
}

function cancelledError(): ConfigurationError {
  const action = 'run the command again';
  return new ConfigurationError('CANCELLED', {
    ...{ expected: 'a proof', got: 'a signal to stop', rule: 'prover process', action },
  });
}
