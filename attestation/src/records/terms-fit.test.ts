import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { equalBytes, isZero, toHex, utf8 } from '../base/bytes.js';
import { CodedError } from '../base/errors.js';
import { teeSelector } from './eip712.js';
import type { Assurance, JobSpec } from './job-spec.js';
import { specDigestOf } from './spec-digest.js';
import { dutySelectorOf, termsFit, type TermsFacts } from './terms-fit.js';
import { JobMode, type Terms, type Windows } from './terms.js';

const account = (byte: number): Uint8Array => new Uint8Array(20).fill(byte);
const digest = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const manifest = { optimizer: { m: [[0, 1]] }, seed: `0x${'5a'.repeat(32)}`, steps: 8 };

function specOf(assurance: Assurance, isProvable = assurance !== 'tee'): JobSpec {
  return {
    version: 1,
    manifest: utf8(JSON.stringify(manifest)),
    dataset: { id: digest(1), root: digest(2), records: 64, shards: 2 },
    segmentSteps: 4,
    scheme: isProvable ? 'fxt-zk/1' : 'state-keccak',
    proving: isProvable ? { profile: 'chain1', variant: 'separate', planDigest: digest(9) } : null,
    policyDigest: digest(3),
    assurance,
    recipient: digest(4),
    settlement: { chainId: 1, contract: account(9) },
    salt: digest(5),
  };
}

const modes: Readonly<Record<Assurance, number>> = {
  tee: JobMode.tee | JobMode.reveal,
  zk: JobMode.full,
  'tee+zk': JobMode.tee | JobMode.full | JobMode.reveal,
  sampled: JobMode.sample,
};
const windows: Windows = {
  ...{ start: 3600, compute: 3600, finality: 3600, draw: 3600, challenge: 3600, prove: 7200, provePer: 600, hold: 0 },
  ...{ reveal: 3600, ack: 3600, drawBlocks: 64 },
};

function termsOf(spec: JobSpec): Terms {
  const { assurance } = spec;
  return {
    client: account(1),
    provider: account(2),
    keyBroker: account(3),
    token: account(0),
    specDigest: specDigestOf(spec),
    initialWeights: digest(6),
    policy: spec.policyDigest,
    snpPolicy: digest(0),
    planDigest: spec.proving?.planDigest ?? digest(0),
    attestors: [account(4), account(5)],
    needed: 1,
    teeSelector,
    dutySelectors: assurance === 'tee' ? [] : [dutySelectorOf(spec)],
    ...{ price: 1000n, stake: 500n, liveness: 50n, bond: 100n, bondFee: 10n, publishFee: 30n },
    ...{ failShareBps: 0, holdbackBps: 10_000, segments: 2, samples: assurance === 'sampled' ? 4 : 0 },
    ...{ unit: 0, unitSegments: 1, parts: 1, providers: digest(0), mode: modes[assurance] },
    seedCommitClient: digest(7),
    acceptBy: 1,
    windows,
  };
}

const assurances: readonly Assurance[] = ['tee', 'zk', 'tee+zk', 'sampled'];
const codeOf = (spec: JobSpec, terms: Terms, facts?: TermsFacts): string => {
  try {
    termsFit(spec, terms, facts);
    return 'fits';
  } catch (error) {
    if (error instanceof CodedError) return error.code;
    throw error;
  }
};

describe('terms fit', () => {
  it('a job of every assurance, and one that may be proved instead', () => {
    for (const assurance of assurances) expect(codeOf(specOf(assurance), termsOf(specOf(assurance)))).toBe('fits');
    const either = specOf('tee', true);
    const proved = { ...termsOf(either), mode: JobMode.tee, dutySelectors: [dutySelectorOf(either)] };
    expect(codeOf(either, proved)).toBe('fits');
    expect(codeOf(either, { ...proved, dutySelectors: [] })).toBe('TERMS_MODE');
  });

  it('no more draws than eight a segment, and than one transaction can look through', () => {
    const sampled = specOf('sampled');
    const drawing = (segments: number, samples: number): [JobSpec, Terms] => {
      const spec = { ...sampled, manifest: utf8(JSON.stringify({ ...manifest, steps: 4 * segments })) };
      return [spec, { ...termsOf(spec), segments, samples }];
    };
    const most: [number, number][] = [
      [2, 16],
      [500, 4000],
      [4000, 4000],
    ];
    for (const [segments, samples] of most) {
      expect(codeOf(...drawing(segments, samples))).toBe('fits');
      const more = drawing(segments, samples + 1);
      const detail = { action: 'ask for fewer samples, or for a proof of every segment' };
      const refusal = expect.objectContaining({ detail: expect.objectContaining(detail) }) as Error;
      expect(codeOf(...more)).toBe('TERMS_SAMPLES');
      expect(() => termsFit(...more)).toThrow(`at most ${samples} samples of ${segments} segments`);
      expect(() => termsFit(...more)).toThrow(refusal);
    }
  });

  const both = specOf('tee+zk');
  const revealed = termsOf(both);
  const short = (change: Partial<Windows>) => ({ windows: { ...windows, ...change } });
  it.each<[string, string, Partial<Terms>]>([
    ['A-C1', 'TERMS_PARTY', { keyBroker: account(0) }],
    ['S-L9', 'TERMS_PARTY', { provider: account(1) }],
    ['S-L9', 'TERMS_PARTY', { provider: account(3) }],
    ['S-H4', 'TERMS_PARTY', { provider: account(5) }],
    ['S-H4', 'TERMS_ATTESTORS', { attestors: [account(5), account(4)] }],
    ['S-H4', 'TERMS_ATTESTORS', { attestors: [account(4), account(4)] }],
    ['S-H4', 'TERMS_ATTESTORS', { attestors: [account(0)] }],
    ['S-H4', 'TERMS_ATTESTORS', { attestors: [account(3)] }],
    ['S-H4', 'TERMS_ATTESTORS', { needed: 3 }],
    ['S-H4', 'TERMS_ATTESTORS', { attestors: Array.from({ length: 17 }, (_, i) => account(i + 10)) }],
    ['Z-H2', 'TERMS_PLAN', { planDigest: digest(0xee) }],
    ['Z-H2', 'TERMS_PLAN', { planDigest: digest(0) }],
    ['Z-H2', 'TERMS_SELECTORS', { dutySelectors: [dutySelectorOf({ scheme: 'fxt-groth16/1' })] }],
    ['Z-H2', 'TERMS_SELECTORS', { dutySelectors: [dutySelectorOf(both), dutySelectorOf(both)] }],
    ['Z-H2', 'TERMS_SELECTORS', { dutySelectors: [] }],
    ['Z-H2', 'TERMS_PROVE', short({ prove: 3599 })],
    ['Z-H2', 'TERMS_WINDOW', short({ provePer: 0 })],
    ['S-M4', 'TERMS_SELECTORS', { teeSelector: dutySelectorOf(both) }],
    ['S-H1', 'TERMS_SHARE', { holdbackBps: 9999 }],
    ['S-L9', 'TERMS_LIVENESS', { liveness: 0n }],
    ['S-L9', 'TERMS_LIVENESS', { liveness: 501n }],
    ['S-L9', 'TERMS_BOND', { bondFee: 0n }],
    ['S-L9', 'TERMS_BOND', { bondFee: 101n }],
    ['S-H3', 'TERMS_PUBLISH', { publishFee: 0n }],
    ['S-M13', 'TERMS_WINDOW', short({ challenge: 0 })],
    ['S-M13', 'TERMS_WINDOW', short({ ack: 0 })],
    ['S-M13', 'TERMS_WINDOW', short({ start: 2 ** 24 })],
    ['N9', 'TERMS_UNIT', { unitSegments: 2 }],
    ['N9', 'TERMS_UNIT', { providers: digest(1) }],
    ['N9', 'TERMS_SEGMENTS', { segments: 0 }],
    ['N9', 'TERMS_SEGMENTS', { segments: 4001 }],
    ['N9', 'TERMS_SEGMENTS', { segments: 1 }],
    ['N9', 'TERMS_SEGMENTS', { segments: 3 }],
    ['N9', 'TERMS_SAMPLES', { samples: 1 }],
    ['N9', 'TERMS_MODE', { mode: modes['tee+zk'] | 64 }],
    ['N9', 'TERMS_MODE', { mode: modes['tee+zk'] | JobMode.sample }],
    ['N9', 'TERMS_MODE', { mode: modes['tee+zk'] | JobMode.early }],
    ['N9', 'TERMS_MODE', { mode: JobMode.full }],
    ['N9', 'TERMS_SPEC', { specDigest: digest(0) }],
    ['N9', 'TERMS_POLICY', { policy: digest(0) }],
  ])('%s is refused with %s: %o', (_finding, code, change) => {
    expect(codeOf(both, { ...revealed, ...change })).toBe(code);
  });

  it('as many segments as the steps of the manifest make, or rounds', () => {
    const counted = (steps: number, segments: number, parallel?: number): string => {
      const spec = { ...specOf('tee'), manifest: utf8(JSON.stringify({ ...manifest, steps })), parallel };
      return codeOf(spec, { ...termsOf(spec), segments });
    };
    expect([counted(8, 2), counted(9, 3), counted(11, 3), counted(24, 3, 2)]).toEqual(Array(4).fill('fits'));
    const others = [counted(8, 1), counted(9, 2), counted(8, 3), counted(24, 6, 2), counted(24, 2, 2)];
    expect(others).toEqual(Array(5).fill('TERMS_SEGMENTS'));
    const unread = { ...specOf('tee'), manifest: utf8('{}') };
    expect(codeOf(unread, termsOf(unread))).toBe('JOB_MANIFEST');
  });

  it('allow an early stop exactly where the manifest has a rule to stop by', () => {
    const [evaluate, stop] = [
      { batch: 1, every: 4, metrics: ['loss'] },
      { metric: 'loss', minimum: 1, patience: 1 },
    ];
    const specWith = (rule: object | null): JobSpec => ({
      ...specOf('tee'),
      manifest: utf8(JSON.stringify({ ...manifest, evaluate, fxt: 2, stop: rule })),
      validation: { root: digest(8), records: 10 },
    });
    const [open, stopped] = [specWith(null), specWith(stop)];
    const allowing = (spec: JobSpec): Terms => ({ ...termsOf(spec), mode: modes.tee | JobMode.early });
    expect([codeOf(stopped, allowing(stopped)), codeOf(open, termsOf(open))]).toEqual(['fits', 'fits']);
    expect([codeOf(stopped, termsOf(stopped)), codeOf(open, allowing(open))]).toEqual(['TERMS_MODE', 'TERMS_MODE']);
    expect(codeOf({ ...stopped, validation: undefined }, allowing(stopped))).not.toBe('fits');
  });

  it('Z-H2 is refused where whoever asks derives another plan, also where spec and terms agree on theirs', () => {
    expect(codeOf(both, revealed, { plan: digest(9) })).toBe('fits');
    expect(codeOf(both, revealed, { plan: digest(8) })).toBe('TERMS_PLAN');
  });

  it('Z-H2 is refused where the windows are too short for the prover that would have to keep them', () => {
    expect(codeOf(both, revealed, { benchSeconds: 300 })).toBe('fits');
    expect(codeOf(both, revealed, { benchSeconds: 301 })).toBe('TERMS_PROVE');
    expect(codeOf(both, { ...revealed, ...short({ prove: 4800, provePer: 1201 }) }, { benchSeconds: 601 })).toBe(
      'TERMS_PROVE',
    );
  });

  it('Z-H2 is refused where the window to compute is shorter than two runs', () => {
    expect(codeOf(both, revealed, { runSeconds: 1800 })).toBe('fits');
    expect(codeOf(both, revealed, { runSeconds: 1801 })).toBe('TERMS_COMPUTE');
  });

  it('is refused where a wrong challenge pays less than the proof that answers it costs', () => {
    const attested = specOf('tee', true);
    const sealed = { ...termsOf(attested), mode: JobMode.tee, dutySelectors: [dutySelectorOf(attested)] };
    expect(codeOf(attested, sealed, { answerMin: 90n })).toBe('fits');
    expect(codeOf(attested, sealed, { answerMin: 91n })).toBe('TERMS_BOND');
    expect(codeOf(both, revealed, { answerMin: 91n })).toBe('fits'); // every segment is proved without a challenge
  });

  it('is refused where windows lock pay for longer than the host takes, or the fee does not pay for publishing', () => {
    expect(codeOf(both, revealed, { greatest: { compute: 3599 } })).toBe('TERMS_WINDOW');
    expect(codeOf(both, revealed, { greatest: { compute: 3600 }, publishEstimate: 10n })).toBe('fits');
    expect(codeOf(both, revealed, { publishEstimate: 11n })).toBe('TERMS_PUBLISH');
  });
});

/** Random changes of terms that fit, small and large numbers alike. */
const everything: fc.Arbitrary<Partial<Terms>> = fc.record({
  provider: fc.constantFrom(0, 1, 2, 3, 4).map(account),
  keyBroker: fc.constantFrom(0, 3, 6).map(account),
  planDigest: fc.constantFrom(0, 9).map(digest),
  attestors: fc.array(fc.integer({ min: 0, max: 6 }).map(account), { maxLength: 3 }),
  needed: fc.integer({ min: 0, max: 3 }),
  dutySelectors: fc.array(
    fc.constantFrom('fxt-zk/1' as const, 'fxt-groth16/1' as const).map((scheme) => dutySelectorOf({ scheme })),
    { maxLength: 2 },
  ),
  liveness: fc.bigInt({ min: 0n, max: 600n }),
  bondFee: fc.bigInt({ min: 0n, max: 120n }),
  publishFee: fc.bigInt({ min: 0n, max: 3n }),
  holdbackBps: fc.constantFrom(0, 9999, 10_000, 10_001),
  segments: fc.constantFrom(0, 1, 4000, 4001),
  samples: fc.constantFrom(0, 1, 8, 40_000),
  mode: fc.integer({ min: 0, max: 127 }),
  windows: fc
    .record(
      {
        challenge: fc.constantFrom(0, 1),
        prove: fc.constantFrom(0, 3600, 7200),
        hold: fc.constantFrom(0, 1),
        ack: fc.constantFrom(0, 2 ** 24),
      },
      { requiredKeys: [] },
    )
    .map((change) => ({ ...windows, ...change })),
});

const changed = everything.chain((all) =>
  fc.subarray(Object.entries(all), { maxLength: 3 }).map((some): Partial<Terms> => Object.fromEntries(some)),
);
const bases = assurances.map((assurance) => ({ spec: specOf(assurance), terms: termsOf(specOf(assurance)) }));

describe('terms that fit', () => {
  it('N9 N10 leave no party to whom contracts/SPEC.md §5 gives no way out, whatever else they say', () => {
    const fitting = { count: 0 };
    const check = ({ spec, terms: base }: (typeof bases)[number], change: Partial<Terms>): void => {
      const terms = { ...base, ...change };
      const verdict = codeOf(spec, terms);
      if (verdict !== 'fits') return void expect(verdict).toMatch(/^TERMS_[A-Z]+$/);
      fitting.count++;
      const speakers = [terms.keyBroker, ...terms.attestors].map(toHex);
      const isRevealed = (terms.mode & JobMode.reveal) !== 0;
      const proofs = terms.dutySelectors.length;
      expect(isZero(terms.keyBroker)).toBe(false);
      expect(!isZero(terms.provider) && [toHex(terms.client), ...speakers].includes(toHex(terms.provider))).toBe(false);
      expect(new Set(speakers).size).toBe(speakers.length);
      expect(terms.needed).toBeLessThanOrEqual(terms.attestors.length);
      expect(terms.dutySelectors.every((one) => equalBytes(one, dutySelectorOf(spec)))).toBe(true);
      expect(proofs === 0 || terms.windows.prove >= 3600).toBe(true);
      expect(!isRevealed || (terms.liveness > 0n && terms.publishFee > 0n && terms.windows.ack > 0)).toBe(true);
      expect(!(isRevealed || terms.windows.hold > 0) || terms.holdbackBps === 10_000).toBe(true);
      expect((terms.mode & JobMode.tee) === 0 || isRevealed || proofs > 0).toBe(true);
      expect(Math.max(...Object.values(terms.windows))).toBeLessThan(2 ** 24);
    };
    fc.assert(fc.property(fc.constantFrom(...bases), changed, check), { numRuns: 1000, seed: 7 });
    expect(fitting.count).toBeGreaterThan(20);
  });
});
