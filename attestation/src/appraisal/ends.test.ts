/** A result holds as long as the same material would bring it about, and no longer. */
import { describe, expect, it } from 'vitest';
import { fakeAmd, fakeAmdAt } from '#test/fake-amd';
import { loadSamples, type LoadedSample } from '#test/samples';
import { parseCollateralBundle } from '../intel/collateral.js';
import { appraise } from './appraise.js';
import { noEndorsements, type Endorsements, type Evidence } from './evidence.js';
import { neutralPolicy, type AppraisalPolicy } from './policy.js';

const years = { ...neutralPolicy, resultSecondsMax: 20 * 365 * 86_400 };

interface Case {
  readonly evidence: Evidence;
  readonly endorsements?: Partial<Endorsements>;
  readonly policy?: AppraisalPolicy;
}

async function judge({ evidence, endorsements, policy = years }: Case, at: number) {
  const { tier, notAfter } = await appraise({
    evidence,
    endorsements: { ...noEndorsements, ...endorsements },
    policy,
    at,
  });
  return { isTrusted: tier === 'affirming' || tier === 'warning', notAfter };
}

/** @returns seconds from `at` to the end that the result names */
async function lastingOf(one: Case, at: number): Promise<number> {
  const { isTrusted, notAfter } = await judge(one, at);
  expect(isTrusted).toBe(true);
  expect((await judge(one, notAfter - 1)).isTrusted).toBe(true);
  expect((await judge(one, notAfter + 1)).isTrusted).toBe(false);
  return notAfter - at;
}

const text = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes);

const cases: Readonly<Record<string, (sample: LoadedSample) => Case>> = {
  'v4-td10-with-collateral': ({ files }) => ({
    evidence: { kind: 'tdx', quote: files.get('quote')! },
    endorsements: parseCollateralBundle(text(files.get('collateral'))),
  }),
  'nitro-eif': ({ files }) => ({ evidence: { kind: 'nitro', document: files.get('document')! } }),
  'h100-550.90.07-full': ({ files }) => ({
    evidence: { kind: 'nvidia', report: files.get('report')!, certificateChain: text(files.get('chain')) },
    endorsements: { rims: [files.get('driverRim')!, files.get('vbiosRim')!] },
  }),
};
const samples = loadSamples().filter(({ id }) => Object.hasOwn(cases, id));

describe.skipIf(samples.length === 0)('a result over real evidence', () => {
  it.each(samples.map((sample) => [sample.id, sample] as const))('ends with what %s rests on', async (id, sample) => {
    await lastingOf(cases[id]!(sample), sample.at);
  });

  it('ends later where the policy tolerates manifests past their end', async () => {
    const sample = samples.find(({ id }) => id === 'h100-550.90.07-full')!;
    const made = cases[sample.id]!(sample);
    const policy = { ...years, gpu: { ...years.gpu, manifestGraceSeconds: 3600 } };
    expect(await lastingOf({ ...made, policy }, sample.at)).toBe((await lastingOf(made, sample.at)) + 3600);
  });
});

describe('a result over an SNP report', () => {
  const amd = fakeAmd('milan');
  const at = fakeAmdAt;

  async function made(revocation: 'required' | 'if-supplied'): Promise<Case> {
    const crls = [await amd.crl({ nextUpdate: at + 50 }), await amd.crl({ nextUpdate: at + 90 })];
    return {
      evidence: { kind: 'simulated-snp', report: await amd.report() },
      endorsements: { certificates: amd.certificates, crls },
      policy: {
        ...{ ...years, id: 'test', environment: 'development', simulatedRoots: amd.roots },
        snp: { ...years.snp, revocation },
      },
    };
  }

  it('ends with the last revocation list that is current, where one is required', async () => {
    expect(await lastingOf(await made('required'), at)).toBe(90);
  });

  it('does not end with a list that nobody demanded', async () => {
    expect(await lastingOf(await made('if-supplied'), at)).toBeGreaterThan(86_400);
  });
});
