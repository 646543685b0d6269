/**
 * How far the engine alone has come, as a file: `veritrain/engine-checkpoint/1` and a line feed, SHA-256 of the canonical
 * manifest and of the records, u64be steps done, keccak-256 of all that and the state digest, canonical bytes
 * of the state. Nothing in it is secret from
 * whoever has the records.
 */
import { concatBytes, equalBytes, Rejection, uintBe, utf8 } from '#attestation/base';
import { canonicalManifest, decodeWeights, stateDigest, weightParts, type JobManifest, type Weights } from '#libs/step';
import { keccakParts } from '#libs/zk/commit';

/** What a checkpoint is of. */
export interface CheckpointedRun {
  readonly manifest: JobManifest;
  /** SHA-256 of the canonical manifest ‖ SHA-256 of the records, 64 bytes. */
  readonly run: Uint8Array;
}

interface Reached {
  /** Steps done. */
  readonly step: number;
  readonly weights: Weights;
}

const magic = utf8('veritrain/engine-checkpoint/1\n');
const [runBytes, stepBytes, digestBytes] = [64, 8, 32];
const headBytes = magic.length + runBytes + stepBytes + digestBytes;

/** @param records as the engine reads them */
export async function runOf(manifest: JobManifest, records: Uint8Array): Promise<CheckpointedRun> {
  const digest = async (bytes: Uint8Array): Promise<Uint8Array> =>
    new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>));
  return { manifest, run: concatBytes(await digest(canonicalManifest(manifest)), await digest(records)) };
}

/** Parts of the file, one after the other, so that no copy of the whole state is made. */
export function* checkpointParts({ manifest, run }: CheckpointedRun, { step, weights }: Reached): Iterable<Uint8Array> {
  const head = concatBytes(magic, run, uintBe(step, stepBytes));
  yield concatBytes(head, digestOf(head, manifest, weights));
  yield* weightParts(weights);
}

/**
 * @param path of the file, for refusals
 * @throws Rejection CHECKPOINT_FILE where it is not whole, CHECKPOINT_RUN where it is of another run
 */
export function readCheckpoint({ manifest, run }: CheckpointedRun, bytes: Uint8Array, path: string): Reached {
  const isOurs = bytes.length >= headBytes && equalBytes(bytes.subarray(0, magic.length), magic);
  if (!isOurs)
    throw refused('CHECKPOINT_FILE', `a checkpoint of this engine in ${path}`, `${bytes.length} other bytes`, other);
  let at = magic.length;
  const next = (length: number): Uint8Array => bytes.subarray(at, (at += length));
  if (!equalBytes(next(runBytes), run)) {
    const action = 'name another file for this run, or the manifest and the data that it is of';
    throw refused(
      'CHECKPOINT_RUN',
      `a checkpoint of this manifest and these records in ${path}`,
      'one of others',
      action,
    );
  }
  const steps = next(stepBytes);
  const step = Number(new DataView(steps.buffer, steps.byteOffset).getBigUint64(0));
  if (step > manifest.steps)
    throw refused('CHECKPOINT_FILE', `at most ${manifest.steps} steps in ${path}`, `${step}`, damaged);
  const head = bytes.subarray(0, at);
  const digest = next(digestBytes);
  const weights = stateIn(manifest, bytes.subarray(at), path);
  if (equalBytes(digestOf(head, manifest, weights), digest)) return { step, weights };
  throw refused('CHECKPOINT_FILE', `the state and the step that the head of ${path} names`, 'others', damaged);
}

function stateIn(manifest: JobManifest, bytes: Uint8Array, path: string): Weights {
  try {
    return decodeWeights(manifest, bytes);
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    const { expected, got } = error.detail;
    throw refused('CHECKPOINT_FILE', `${expected} of state in ${path}`, got, damaged);
  }
}

function digestOf(head: Uint8Array, manifest: JobManifest, weights: Weights): Uint8Array {
  return keccakParts([head, stateDigest(manifest, weights, keccakParts)]);
}

const other = 'name a file that does not exist yet, or one that a run of this engine has written';
const damaged = 'delete the file, which is damaged, and train from the start';

function refused(code: string, expected: string, got: string, action: string): Rejection {
  return new Rejection(code, { expected, got, rule: 'enclave/SPEC.md, engine alone', action });
}
