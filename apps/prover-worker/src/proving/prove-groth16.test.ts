/** A chain of Groth16 proofs from files, and everything that must not pass for it. */
import { beforeAll, describe as describeAlways, expect, it } from 'vitest';
import { concatBytes, keccak, Rejection, to0x, utf8 } from '#attestation/base';
import { parseGroth16Statement, verifyGroth16Bundle, type Groth16Statement } from '#libs/proof';
import {
  circuitDigest,
  circuitShape,
  groth16ProofBytes,
  keyBytes,
  keyDigest,
  parseKey,
  verifyGroth16,
} from '#libs/zk/verifier';
import { hasGroth16Tools } from '#test/groth16-tools';
import { groth16Manifest, smallGroth16Request } from '#test/small-groth16';
import { proveFiles } from './prove-files.js';
import type { ProvedFiles } from './report.js';
import { parseProveRequest } from './request.js';

const manifest = groth16Manifest;
const circuit = circuitDigest(circuitShape(manifest));
const policy = { takesDevelopmentKeys: true };
const keyAt = 4;
const proofsAt = keyAt + keyBytes + 4;
const request = smallGroth16Request();
const describe = describeAlways.skipIf(!hasGroth16Tools);

let proved: ProvedFiles;
let statement: Groth16Statement;

beforeAll(async () => {
  if (!hasGroth16Tools) return;
  proved = await proveFiles(parseProveRequest(request), () => undefined);
  statement = parseGroth16Statement(JSON.parse(proved.statement));
}, 240_000);

function codeOf(bundle: Uint8Array, changes: Partial<Groth16Statement> = {}): string {
  try {
    verifyGroth16Bundle(bundle, { ...statement, ...changes }, policy);
  } catch (error) {
    if (error instanceof Rejection) return error.code;
    throw error;
  }
  return 'accepted';
}

describe('a chain of two proofs', () => {
  it('is accepted, and says what it rests on', () => {
    const verified = verifyGroth16Bundle(proved.proof, statement, policy);
    expect(verified).toMatchObject({ ceremony: 'development', statement: { stepFrom: 3, stepCount: 2 } });
    expect(to0x(verified.statementDigest)).toBe(proved.report.statementDigest);
    expect(proved.report).toMatchObject({ backend: 'groth16', segments: 2, ceremony: 'development' });
    expect(proved.report.proofBytes).toBe(proofsAt + 2 * groth16ProofBytes);
  });

  it('needs its memory: snarkjs is held to the request’s', async () => {
    const within = (memoryMiB: number) => proveFiles(parseProveRequest({ ...request, memoryMiB }), () => undefined);
    await expect(within(64)).rejects.toMatchObject({ code: 'ZK_MEMORY_EXCEEDED' });
  });

  const word = (name: string): Uint8Array => keccak(utf8(name)).fill(0, 0, 1);
  it.each<[string, () => Partial<Groth16Statement>, string]>([
    ['another job', () => ({ jobId: word('job') }), 'STEP_FINAL_CHECK'],
    ['another first step', () => ({ firstStep: 4 }), 'MERKLE_PATH'],
    ['a first step beyond the job', () => ({ firstStep: 64 }), 'STEP_STATEMENT'],
    ['a first step far beyond the job', () => ({ firstStep: 6400 }), 'STEP_STATEMENT'],
    ['another data root', () => ({ datasetRoot: word('root') }), 'MERKLE_PATH'],
    ['another number of records', () => ({ recordCount: 6 }), 'MERKLE_PATH'],
    ['no records', () => ({ recordCount: 0 }), 'STEP_STATEMENT'],
    ['another escrow', () => ({ escrow: { domain: word('domain'), job: word('job') } }), 'STEP_FINAL_CHECK'],
    ['another start', () => ({ borders: [word('start'), ...statement.borders.slice(1)] }), 'STEP_FINAL_CHECK'],
    ['another end', () => ({ borders: [...statement.borders.slice(0, 2), word('end')] }), 'STEP_FINAL_CHECK'],
    ['borders in another order', () => ({ borders: [...statement.borders].reverse() }), 'STEP_FINAL_CHECK'],
    [
      'a border beyond the field',
      () => ({ borders: statement.borders.map(() => word('x').fill(255)) }),
      'STEP_STATEMENT',
    ],
    ['segments in another order', () => ({ segments: [...statement.segments].reverse() }), 'MERKLE_PATH'],
    ['one segment less', () => ({ segments: statement.segments.slice(1) }), 'PROOF_SEGMENTS'],
    [
      'another schedule',
      () => ({ manifest: { ...manifest, optimizer: { kind: 'sgd', m: [[0, 2]] } } }),
      'STEP_FINAL_CHECK',
    ],
    [
      'another seed',
      () => ({ manifest: { ...manifest, seed: `0x${'11'.repeat(32)}` } }),
      '(MERKLE_PATH|STEP_FINAL_CHECK)',
    ],
    ['another shape', () => ({ manifest: { ...manifest, wint: 3 } }), 'GROTH16_KEY'],
    ['another ceremony', () => ({ ceremony: 'external' }), 'GROTH16_KEY'],
    ['another key', () => ({ verificationKey: word('key') }), 'GROTH16_KEY'],
  ])('is no proof of %s', (_name, changes, code) => {
    expect(codeOf(proved.proof, changes())).toMatch(new RegExp(`^${code}$`));
  });

  it('is refused where development keys are, or where another key is trusted', () => {
    const refuse = (key: object) => () => verifyGroth16Bundle(proved.proof, statement, { ...policy, ...key });
    expect(refuse({ takesDevelopmentKeys: false })).toThrow('GROTH16_DEVELOPMENT');
    expect(refuse({ verificationKey: keccak(utf8('another')) })).toThrow('GROTH16_KEY');
    expect(refuse({ verificationKey: statement.verificationKey })).not.toThrow();
  });
});

describe('changed bytes', () => {
  const swapped = (): Uint8Array =>
    concatBytes(
      proved.proof.subarray(0, proofsAt),
      proved.proof.subarray(proofsAt + groth16ProofBytes),
      proved.proof.subarray(proofsAt, proofsAt + groth16ProofBytes),
    );

  it('proofs of each other’s segments, cut or grown bundles', () => {
    expect(codeOf(swapped())).toBe('STEP_FINAL_CHECK');
    expect(codeOf(proved.proof.subarray(0, -1))).toBe('PROOF_BUNDLE');
    expect(codeOf(concatBytes(proved.proof, new Uint8Array(groth16ProofBytes)))).toBe('PROOF_BUNDLE');
    expect(codeOf(new Uint8Array(3))).toBe('PROOF_SELECTOR');
    expect(codeOf(new Uint8Array())).toBe('PROOF_SELECTOR');
  });
});

describe('a key without a contribution', () => {
  /** δ := γ. Then (α, β, −input) proves anything. */
  function withoutContribution(): Uint8Array {
    const key = Uint8Array.from(proved.proof.subarray(keyAt, keyAt + keyBytes));
    key.copyWithin(320, 192, 320);
    return key;
  }

  it('would let anyone forge, and is refused', () => {
    const key = withoutContribution();
    expect(() => parseKey(key)).toThrow('GROTH16_KEY');
    const bundle = concatBytes(proved.proof.subarray(0, keyAt), key, proved.proof.subarray(keyAt + keyBytes));
    expect(codeOf(bundle, { verificationKey: keyDigest(circuit, 'development', key) })).toBe('GROTH16_KEY');
    // What a verifier without that check would accept.
    const honest = parseKey(proved.proof.subarray(keyAt, keyAt + keyBytes));
    const weak = { ...honest, delta: honest.gamma };
    const lies = [1n, 2n, 3n, 4n, 5n, 6n];
    const input = lies.reduce((sum, lie, i) => sum.add(weak.inputs[i + 1]!.multiplyUnsafe(lie)), weak.inputs[0]!);
    const forged = concatBytes(key.subarray(0, 192), pointBytes(input.negate()));
    expect(() => verifyGroth16(weak, lies, forged)).not.toThrow();
    expect(() => verifyGroth16(honest, lies, forged)).toThrow('STEP_FINAL_CHECK');
  });
});

function pointBytes(point: { toAffine(): { x: bigint; y: bigint } }): Uint8Array {
  const { x, y } = point.toAffine();
  return Uint8Array.from(Buffer.from([x, y].map((v) => v.toString(16).padStart(64, '0')).join(''), 'hex'));
}
