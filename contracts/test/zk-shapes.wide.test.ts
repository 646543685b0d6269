/** Every shape of segment on chain, and thousands of mutants: the long form of zk.test.ts. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { backend, choices, judgesAlike, mutated } from './zk-cases.js';
import { openStepVerifier, type StepVerifierOnChain } from './zk-chain.js';
import { sealSegment } from './zk-seal.js';

let stepVerifier: StepVerifierOnChain;
beforeAll(async () => {
  stepVerifier = await openStepVerifier();
});
afterAll(() => stepVerifier?.stop());

const onChain: StepVerifierOnChain['judge'] = (...seal) => stepVerifier.judge(...seal);

describe('honest proofs are accepted on chain', () => {
  it.each(choices)('%s', async (_name, choice) => {
    const { fields, digest } = sealSegment(backend, choice);
    expect(await onChain(fields, digest)).toBe('accepted');
  });
});

describe('changed proofs get the code that TypeScript gives', () => {
  const count = Number(process.env['VERITRAIN_MUTATIONS'] ?? 1000);
  it.each(mutated)('%s', { timeout: 600_000 }, (name, choice, share) =>
    judgesAlike(onChain, name, choice, Math.ceil(count * share)),
  );
});
