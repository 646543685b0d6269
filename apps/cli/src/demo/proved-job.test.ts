import { describe, expect, it } from 'vitest';
import { jobIdOf, type StepStatement } from '#attestation';
import { manifestDigest, profileManifest } from '#libs/step';
import { checkChain, provedSpec } from './proved-job.js';

const address = `0x${'11'.repeat(20)}`;
const named = { settlement: address, registry: address, router: address, teeVerifier: address };
const deployment = { ...named, rules: address, randao: address, chainId: 31_337, fromBlock: 0 };
const word = (n: number): Uint8Array => new Uint8Array(32).fill(n);
const manifest = profileManifest('fx1', {
  ...{ dims: [6, 5, 3], batch: 4, e: 5, steps: 10, superblock: 4 },
  seed: `0x${'5a'.repeat(32)}`,
});
const spec = provedSpec({
  ...{ manifest, root: word(9), records: 32, assurance: 'zk' as const, recipient: word(8), deployment },
});
const base = { jobId: jobIdOf(spec), programDigest: manifestDigest(manifest), datasetRoot: word(9) };
const good: readonly StepStatement[] = [0, 1, 2].map((i) => ({
  ...base,
  ...{ stepFrom: 4 * i, stepCount: i === 2 ? 2 : 4, weightsBefore: word(i + 1), weightsAfter: word(i + 2) },
}));
const change = (index: number, changes: Partial<StepStatement>): StepStatement[] =>
  good.map((statement, i) => (i === index ? { ...statement, ...changes } : statement));

describe('what the client checks before it pays', () => {
  it('gives the borders of the whole job', () => {
    expect(checkChain(good, spec, manifest, word(1))).toEqual([word(1), word(2), word(3), word(4)]);
  });

  it.each<[string, readonly StepStatement[]]>([
    ['another job', change(1, { jobId: word(7) })],
    ['another program', change(1, { programDigest: word(7) })],
    ['other data', change(2, { datasetRoot: word(7) })],
    ['another start', change(0, { weightsBefore: word(7) })],
    ['a break between segments', change(1, { weightsBefore: word(7) })],
    ['a gap in the steps', change(1, { stepFrom: 5 })],
    ['a segment too short', change(1, { stepCount: 3 })],
    ['the last segment missing', good.slice(0, 2)],
    ['a segment twice', [good[0]!, good[0]!, good[2]!]],
    ['no segment', []],
  ])('refuses %s', (_name, statements) => {
    expect(() => checkChain(statements, spec, manifest, word(1))).toThrow('PROVED_JOB');
  });

  it('refuses a start that it did not fix', () => {
    expect(() => checkChain(good, spec, manifest, word(2))).toThrow('PROVED_JOB');
  });
});
