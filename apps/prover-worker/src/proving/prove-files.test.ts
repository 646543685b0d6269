import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { CodedError, concatBytes, to0x } from '#attestation/base';
import { parseProofBundle, parseProofStatement, planOf, verifyProofBundle } from '#libs/proof';
import {
  encodeWeights,
  initialWeights,
  profileManifest,
  stateDigest,
  type Manifest,
  type ProfileParameters,
  type Weights,
} from '#libs/step';
import { createCommitter } from '#libs/zk/commit';
import { startSeed } from '#libs/zk/verifier';
import { writeIdx } from '#test/idx-file';
import { proveFiles } from './prove-files.js';
import type { ProvedFiles } from './report.js';
import { parseProveRequest } from './request.js';

const seed = `0x${'5a'.repeat(32)}`;
const folder = mkdtempSync(join(tmpdir(), 'veritrain-prove-'));

function tiny(parameters: Partial<ProfileParameters> = {}): Manifest {
  return profileManifest('fx1', { dims: [6, 5, 3], batch: 4, e: 5, steps: 20, seed, ...parameters });
}

/** 32 made-up records as IDX files. */
function files(name: string, label: (i: number) => number = (i) => i % 3): { images: string; labels: string } {
  return {
    images: writeIdx(join(folder, `${name}-images`), [32, 2, 3], (i) => (i * 73 + (i >> 3)) & 255),
    labels: writeIdx(join(folder, `${name}-labels`), [32], label),
  };
}

function weightsFile(weights: Weights): string {
  const path = join(folder, 'weights');
  writeFileSync(path, encodeWeights(weights));
  return path;
}

const good = { manifest: tiny(), ...files('good'), from: 0, steps: 1 };

async function codeOf(changes: object): Promise<string> {
  try {
    await proveFiles(parseProveRequest({ ...good, ...changes }), () => undefined);
  } catch (error) {
    if (error instanceof CodedError) return error.code;
    throw error;
  }
  return 'proved';
}

describe('what the prover refuses', () => {
  it.each<[string, () => object, string]>([
    ['a manifest outside the range rules', () => ({ manifest: tiny({ e: 30, wint: 16 }) }), 'STEP_RANGE_R1'],
    ['errors too wide to be proved', () => ({ manifest: tiny({ gbits: 17 }) }), 'STEP_PLAN'],
    ['a step too coarse to be proved', () => ({ manifest: tiny({ e: 2 }) }), 'STEP_PLAN'],
    ['no manifest', () => ({ manifest: 5 }), 'MANIFEST_TYPE'],
    ['a segment beyond the last step', () => ({ from: 19, steps: 2 }), 'SEGMENT_RANGE'],
    ['a label out of range', () => files('label', () => 3), 'LABEL_RANGE'],
    ['too few records', () => ({ manifest: tiny({ batch: 64 }) }), 'ORDER_TOO_FEW_RECORDS'],
    ['a file that is not there', () => ({ images: join(folder, 'none') }), 'FILE_UNREADABLE'],
    ['too little memory', () => ({ memoryMiB: 8 }), 'ZK_MEMORY_EXCEEDED'],
    ['weights of another step', () => ({ from: 2, weights: weightsFile(initialWeights(tiny())) }), 'WEIGHTS_START'],
    [
      'weights of another digest',
      () => ({ weights: weightsFile(initialWeights(tiny())), stateDigest: `0x${'11'.repeat(32)}` }),
      'WEIGHTS_START',
    ],
    ['another digest than the seed gives', () => ({ stateDigest: `0x${'11'.repeat(32)}` }), 'WEIGHTS_START'],
    [
      'a segment too long for a circuit',
      () => ({ backend: 'groth16', manifest: tiny({ superblock: 32, steps: 32 }), steps: 32 }),
      'GROTH16_SHAPE',
    ],
    ['an unknown profile', () => ({ profile: 'none' }), 'STEP_PLAN'],
    ['an unknown member', () => ({ more: 1 }), 'PROVE_REQUEST'],
    ['a number of threads that is none', () => ({ threads: 0 }), 'PROVE_REQUEST'],
  ])('%s', async (_name, changes, code) => {
    expect(await codeOf(changes())).toBe(code);
  });

  it('training that leaves its range, naming step and tensor', async () => {
    const m = tiny({ e: [5, 5], m: [[0, 255]], wint: 0, steps: 20 });
    expect(await codeOf({ manifest: m, from: 19 })).toBe('GUARD_VIOLATION');
  });
});

describe('two steps in two chained proofs', () => {
  let proved: ProvedFiles;
  const phases: string[] = [];

  beforeAll(async () => {
    const request = parseProveRequest({ ...good, from: 3, steps: 2 });
    proved = await proveFiles(request, ({ phase }) => void phases.push(phase));
  });

  it('are accepted; another start, order, data, job or manifest is not', () => {
    const statement = parseProofStatement(JSON.parse(proved.statement));
    expect(verifyProofBundle(proved.proof, statement).statement).toMatchObject({ stepFrom: 3, stepCount: 2 });
    const zero = new Uint8Array(32);
    const changed: [Partial<typeof statement>, string][] = [
      [{ firstStep: 4 }, 'MERKLE_PATH'],
      [{ firstStep: 6400 }, 'STEP_STATEMENT'],
      [{ jobId: zero.slice().fill(1) }, 'STEP_POW'],
      [{ escrow: { domain: zero, job: zero } }, 'STEP_POW'],
      [{ datasetRoot: zero }, 'MERKLE_PATH'],
      [{ recordCount: 28 }, 'MERKLE_PATH'],
      [{ borders: statement.borders.toReversed() }, 'STEP_POW'],
      [{ segments: statement.segments.slice(1), borders: statement.borders.slice(1) }, 'PROOF_SEGMENTS'],
      [{ manifest: tiny({ m: [[0, 2]] }) }, 'STEP_POW'],
      [{ profile: 'chain16' }, 'MERKLE_PATH'],
      [{ variant: 'separate' }, 'STEP_'],
    ];
    for (const [change, code] of changed) {
      expect(() => verifyProofBundle(proved.proof, { ...statement, ...change })).toThrow(code);
    }
  });

  it('start from the seed where they start at step 0', async () => {
    const fromStart = await proveFiles(parseProveRequest(good), () => undefined);
    expect(verifyProofBundle(fromStart.proof, parseProofStatement(JSON.parse(fromStart.statement))).start).toBe('seed');
    expect(verifyProofBundle(proved.proof, parseProofStatement(JSON.parse(proved.statement))).start).toBe('given');
  });

  it('hide a start of other weights at step 0 under a secret seed', async () => {
    const other = initialWeights({ ...good.manifest, seed: `0x${'33'.repeat(32)}` });
    const weights = weightsFile(other);
    const claimed = to0x(stateDigest(good.manifest, other));
    const made = await proveFiles(parseProveRequest({ ...good, weights, stateDigest: claimed }), () => undefined);
    const statement = parseProofStatement(JSON.parse(made.statement));
    expect(verifyProofBundle(made.proof, statement).start).toBe('given');
    const plan = planOf(statement);
    const publicly = createCommitter(plan).weights(other, startSeed(good.manifest));
    expect(statement.borders[0]!.root).not.toEqual(publicly.root);
  });

  it('are made for mse and a batch that is no power of two as well', async () => {
    const request = parseProveRequest({ ...good, manifest: tiny({ loss: 'mse', batch: 3, superblock: 2 }), steps: 2 });
    const made = await proveFiles(request, () => undefined);
    expect(verifyProofBundle(made.proof, parseProofStatement(JSON.parse(made.statement))).statement).toMatchObject({
      stepFrom: 0,
      stepCount: 2,
    });
  });

  it('tell their phases in order', () => {
    const seen = [...new Set(phases)];
    const expected = [
      'load',
      'train to step 3',
      'commit data',
      'commit weights',
      'execute',
      'commit',
      'prove',
      'verify',
    ];
    expect(seen).toEqual(expected);
  });

  it('are refused when bytes are cut, added, or of another kind', () => {
    const { proof } = proved;
    expect(() => parseProofBundle(proof.subarray(0, -1))).toThrow('PROOF_BUNDLE');
    expect(() => parseProofBundle(concatBytes(proof, Uint8Array.of(0)))).toThrow('PROOF_BUNDLE');
    expect(() => parseProofBundle(proof.subarray(0, 7))).toThrow('PROOF_BUNDLE');
    expect(() => parseProofBundle(proof.toReversed())).toThrow('PROOF_SELECTOR');
  });

  it.each(['version', 'profile', 'borders', 'segments', 'jobId', 'recordCount', 'manifest'])(
    'need %s in their statement',
    (member) => {
      const json = JSON.parse(proved.statement) as Record<string, unknown>;
      expect(() => parseProofStatement({ ...json, [member]: null })).toThrow(/^(PROOF_STATEMENT|MANIFEST_TYPE)/);
      delete json[member];
      expect(() => parseProofStatement(json)).toThrow('PROOF_STATEMENT');
    },
  );
});
