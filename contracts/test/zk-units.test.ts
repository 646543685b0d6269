/** Proofs of several segments on chain: same verdict as in TypeScript, same code (libs/zk/SPEC.md §20). */
import { ContractFactory, Result, ZeroAddress } from 'ethers';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { concatBytes, fromHex, uintBe } from '#attestation/base';
import { backend, judgesAlike } from './zk-cases.js';
import { inTypeScript, openStepVerifier, testArtefact, type StepVerifierOnChain } from './zk-chain.js';
import { encodeSeal, sealSegment, specDigestOf, type SealedSegment, type SealFields } from './zk-seal.js';
import { mutatedUnits, unitChoices } from './zk-unit-cases.js';

const planted = vi.hoisted(() => ({ check: 'none' }));
vi.mock('../../libs/zk/src/verifier/flow/borders.js', async (original) => {
  const real = await original<typeof import('../../libs/zk/src/verifier/flow/borders.js')>();
  return {
    ...real,
    requireEnd: (...args: Parameters<typeof real.requireEnd>) => {
      if (planted.check !== 'the end of the last segment') real.requireEnd(...args);
    },
    updateWeights: (...[shape, ...rest]: Parameters<typeof real.updateWeights>) => {
      const isWhole = planted.check === 'where segments end';
      return real.updateWeights(isWhole ? { ...shape, segmentVars: 0 } : shape, ...rest);
    },
  };
});
vi.mock('../../libs/zk/src/verifier/masked-protocol.js', async (original) => {
  const real = await original<typeof import('../../libs/zk/src/verifier/masked-protocol.js')>();
  class MaskedProtocol extends real.MaskedProtocol {
    constructor(...[plan, transcript, source, superblocks]: ConstructorParameters<typeof real.MaskedProtocol>) {
      super(
        ...[plan, transcript, source],
        planted.check === 'the order of the data' ? superblocks?.map((_, j) => j) : superblocks,
      );
    }
  }
  return { ...real, MaskedProtocol };
});

let stepVerifier: StepVerifierOnChain;
beforeAll(async () => {
  stepVerifier = await openStepVerifier();
}, 60_000);
afterAll(() => stepVerifier?.stop());
afterEach(() => {
  planted.check = 'none';
});

const onChain: StepVerifierOnChain['judge'] = (...seal) => stepVerifier.judge(...seal);
const choiceOf = (name: string) => unitChoices.find(([own]) => own === name)![1];

describe('honest units are accepted on chain', () => {
  it.each(unitChoices)('%s', async (_name, choice) => {
    const { plan, fields, digest } = sealSegment(backend, choice);
    expect(plan.shape.segmentVars).toBeGreaterThan(0);
    expect(await onChain(fields, digest)).toBe('accepted');
  });

  it('by no verifier that was made without their relations', async () => {
    const { abi, bytecode } = testArtefact('WeakStepVerifier');
    const { ZkSoftmaxRelation, ZkSquaredErrorRelation } = stepVerifier.relations;
    const relations = [ZkSoftmaxRelation, ZkSquaredErrorRelation, ZeroAddress, ZeroAddress];
    const verifier = await new ContractFactory(abi, bytecode, stepVerifier.signer).deploy(relations);
    const ask = ({ fields, digest }: SealedSegment): Promise<unknown> =>
      verifier.getFunction('verify').staticCall(encodeSeal(fields), digest);
    expect(await ask(sealSegment(backend, {}))).toEqual(new Result());
    for (const name of ['four of one step', 'mse']) {
      await expect(ask(sealSegment(backend, choiceOf(name)))).rejects.toMatchObject({ code: 'CALL_EXCEPTION' });
    }
  });

  it('not under a plan of few bits', async () => {
    const { fields, digest } = sealSegment(backend, choiceOf('four of one step'));
    expect(await stepVerifier.judgeStrictly(fields, digest)).toBe('STEP_PLAN');
  });
});

describe('changed proofs of units get the code that TypeScript gives', () => {
  it.each(mutatedUnits)('%s', { timeout: 120_000 }, (name, choice, share) =>
    judgesAlike(onChain, name, choice, Math.ceil(100 * share)),
  );
});

describe('changed statements of units are refused', () => {
  let sealed: SealedSegment;
  beforeAll(() => {
    sealed = sealSegment(backend, choiceOf('four of two steps, later in the job'));
  });

  const steps = 8;
  it.each<[string, (fields: SealFields) => Partial<SealFields>, string]>([
    ['no superblocks', (f) => ({ sizes: f.sizes.subarray(0, steps) }), 'STEP_STATEMENT'],
    ['a superblock less', (f) => ({ sizes: f.sizes.subarray(0, f.sizes.length - 32) }), 'STEP_STATEMENT'],
    ['another superblock', (f) => ({ sizes: withByte(f.sizes, steps + 31, 1) }), 'STEP_STATEMENT'],
    ['the last superblock another', (f) => ({ sizes: withByte(f.sizes, f.sizes.length - 1, 1) }), 'STEP_STATEMENT'],
    ['a superblock beyond all', (f) => ({ sizes: withByte(f.sizes, steps, 1) }), 'STEP_STATEMENT'],
    ['another size of a step', (f) => ({ sizes: withByte(f.sizes, 3, 2) }), 'STEP_STATEMENT'],
    ['another unit of the job', () => ({ index: 2 }), 'STEP_STATEMENT'],
    ['a set that has no room', (f) => ({ spec: { ...f.spec, recordCount: 5 * 4 } }), 'STEP_STATEMENT'],
    ['a set of no superblock', (f) => ({ spec: { ...f.spec, recordCount: 3 } }), 'ORDER_TOO_FEW_RECORDS'],
    ['a plan of one segment', (f) => ({ plan: withSteps(f.plan) }), 'STEP_STATEMENT'],
    ['a plan of a unit of one segment', (f) => ({ plan: withSteps(f.plan, 2) }), 'STEP_PLAN'],
    ['a plan of two segments', (f) => ({ plan: withSteps(f.plan, 4) }), 'STEP_STATEMENT'],
    ['a plan of two unit sizes', (f) => ({ plan: withSteps(f.plan, 8, 8) }), 'STEP_PLAN'],
  ])('%s', async (_name, change, code) => {
    const changed = change(sealed.fields);
    const terms = changed.spec || changed.plan ? agreed({ ...sealed.fields, ...changed }) : {};
    expect(await onChain({ ...sealed.fields, ...changed, ...terms }, sealed.digest)).toBe(code);
  });
});

describe('TypeScript that leaves out a check says something else than the chain', () => {
  it.each(['the end of the last segment', 'where segments end', 'the order of the data'])('%s', async (check) => {
    const { plan, statement, fields, digest } = sealSegment(backend, choiceOf('four of two steps, later in the job'));
    expect(inTypeScript(plan, statement, fields.proof)).toBe('accepted');
    planted.check = check;
    expect(inTypeScript(plan, statement, fields.proof)).toBe('STEP_FINAL_CHECK');
    expect(await onChain(fields, digest)).toBe('accepted');
  });

  it('and a proof that is made without the end of the last segment is accepted by it alone', async () => {
    planted.check = 'the end of the last segment';
    const { plan, statement, fields, digest } = sealSegment(backend, choiceOf('four of one step'));
    expect(inTypeScript(plan, statement, fields.proof)).toBe('accepted');
    expect(await onChain(fields, digest)).toBe('STEP_FINAL_CHECK');
  });
});

/** The same with terms whose spec is this one. */
function agreed({ terms, spec, plan }: SealFields): Partial<SealFields> {
  const copy = Uint8Array.from(terms);
  copy.set(fromHex(specDigestOf(spec, plan)), 160);
  return { terms: copy };
}

function withByte(bytes: Uint8Array, place: number, change: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[place]! ^= change;
  return copy;
}

/** The last seven words of the plan are their number less one, loss, bits, scale, points, order and the steps of a unit. */
function withSteps(plan: Uint8Array, ...steps: number[]): Uint8Array {
  const at = plan.length - 28;
  const words = steps.map((count) => uintBe(count, 4));
  return concatBytes(plan.subarray(0, at), uintBe(5 + steps.length, 4), plan.subarray(at + 4, at + 24), ...words);
}
