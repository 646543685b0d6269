/** What a policy pins, what it must pin for production, and what it leaves open. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { fakeAmd, fakeAmdAt } from '#test/fake-amd';
import { fakeIntel } from '#test/fake-intel';
import { CodedError } from '../base/errors.js';
import { encodeDocument } from '../check/document.js';
import { appraiseQuote, neutralQuotePolicy, type QuotePolicy } from '../intel/policy.js';
import { verifyQuote } from '../intel/verify.js';
import { appraise } from './appraise.js';
import { openDemands } from './demands.js';
import { noEndorsements } from './evidence.js';
import type { CpuKind } from './pins.js';
import { decodePolicy, neutralPolicy, parsePolicy, signPolicy, type AppraisalPolicy } from './policy.js';
import { parseReferenceValues, withReferenceValues } from './reference-values.js';

const hex48 = (byte: string) => byte.repeat(48);
const hex32 = (byte: string) => byte.repeat(32);
const bytes = (size: number, byte: number) => new Uint8Array(size).fill(byte);

/** Offsets in the TD report body, after the quote header. */
const rtmr = (index: number) => 328 + 48 * index;
const registers = [0, 1, 2, 3].map((n) => [rtmr(n), bytes(48, 0xa0 + n)] as const);
const owners = [
  [184, bytes(48, 0xb0)],
  [232, bytes(48, 0xb1)],
  [280, bytes(48, 0xb2)],
] as const;

async function failed(options: Parameters<typeof fakeIntel>[0], policy: Partial<QuotePolicy>): Promise<string[]> {
  const { claims } = await verifyQuote(await fakeIntel(options));
  const checks = appraiseQuote(claims!, { ...neutralQuotePolicy, ...policy });
  return checks.filter(({ status }) => status !== 'met').map(({ code, status }) => `${code} ${status}`);
}

describe('pins of a TD', () => {
  const body = [...registers, ...owners];
  const pinned: Partial<QuotePolicy> = {
    rtmrs: { 0: [hex48('a0')], 1: [hex48('a1')], 2: [hex48('ff'), hex48('a2')], 3: [hex48('a3')] },
    mrConfigId: [hex48('b0')],
    mrOwner: [hex48('b1')],
    mrOwnerConfig: [hex48('b2')],
  };

  it('A-C2 a TD of listed registers, configuration and owner is accepted, under both report versions', async () => {
    expect(await failed({ body }, pinned)).toEqual([]);
    const serviceTd = [[600, bytes(48, 0xc0)]] as const;
    const policy = { ...pinned, mrServiceTd: [hex48('c0')] };
    expect(await failed({ kind: 'td15', body: [...body, ...serviceTd] }, policy)).toEqual([]);
  });

  it.each<[string, number, string]>([
    ['TDX_RTMR0', rtmr(0), 'rtmrs'],
    ['TDX_RTMR1', rtmr(1), 'rtmrs'],
    ['TDX_RTMR2', rtmr(2), 'rtmrs'],
    ['TDX_RTMR3', rtmr(3), 'rtmrs'],
    ['TDX_MRCONFIGID', 184, 'mrConfigId'],
    ['TDX_MROWNER', 232, 'mrOwner'],
    ['TDX_MROWNERCONFIG', 280, 'mrOwnerConfig'],
  ])('A-C2 the listed firmware with another %s is refused', async (code, offset) => {
    const other = [...body, [offset, bytes(48, 0x99)] as const];
    const measurements = [hex48('00')];
    expect(await failed({ body: other }, { ...pinned, measurements })).toEqual([`${code} refused`]);
  });

  it('A-C2 A-M8 a service TD is refused where the list names another, and where the report cannot say', async () => {
    const policy = { mrServiceTd: [hex48('c0')] };
    expect(await failed({ kind: 'td15' }, policy)).toEqual(['TDX_MRSERVICETD refused']);
    expect(await failed({ kind: 'td10' }, policy)).toEqual(['TDX_MRSERVICETD refused']);
  });

  it('A-C2 the JSON policy and reference values take every pin', async () => {
    const quote = { ...neutralPolicy.quote, ...pinned, mrServiceTd: [hex48('c0')] };
    expect(parsePolicy(JSON.stringify({ ...neutralPolicy, quote })).quote).toEqual(quote);
    const label = 'test image';
    const listed = (digest: string) => [{ digest, label }];
    const values = parseReferenceValues(
      JSON.stringify({
        ...{ version: 1, id: 'r', notBefore: 10, snpMeasurements: [], snpIdKeyDigests: [], quoteMeasurements: [] },
        quoteRtmrs: [1, 2].map((register) => ({ register, digest: hex48(`a${register}`), label })),
        quoteMrConfigIds: listed(hex48('b0')),
        quoteMrOwners: listed(hex48('b1')),
        quoteMrOwnerConfigs: listed(hex48('b2')),
        quoteMrServiceTds: listed(hex48('c0')),
      }),
    );
    const { quote: merged } = withReferenceValues(neutralPolicy, values, 10);
    expect(merged).toMatchObject({ rtmrs: { 1: [hex48('a1')], 2: [hex48('a2')] }, mrOwner: [hex48('b1')] });
    expect(await failed({ body: [...body, [rtmr(2), bytes(48, 1)]] }, { ...merged, mrServiceTd: undefined! })).toEqual([
      'TDX_RTMR2 refused',
    ]);
    expect(withReferenceValues(neutralPolicy, values, 9).quote.rtmrs).toEqual({ 1: [], 2: [] });
    expect(withReferenceValues(neutralPolicy, { ...values, quoteRtmrs: undefined! }, 10).quote.rtmrs).toBeUndefined();
  });

  it('A-M8 SEPT_VE_DISABLE is demanded, PERFMON refused, where the policy says so', async () => {
    const attributes = (high: number, top: number) => [[120, Uint8Array.of(0, 0, 0, high, 0, 0, 0, top)]] as const;
    const policy: Partial<QuotePolicy> = { tdAttributesSet: ['SEPT_VE_DISABLE'], tdAttributesClear: ['PERFMON'] };
    expect(await failed({ body: attributes(0x10, 0) }, policy)).toEqual([]);
    expect(await failed({ body: attributes(0, 0) }, policy)).toEqual(['TDX_ATTRIBUTES_DEMANDED refused']);
    expect(await failed({ body: attributes(0x10, 0x80) }, policy)).toEqual(['TDX_ATTRIBUTES_DEMANDED refused']);
  });

  it('A-M8 collateral of an older edition is refused, absent collateral missing', async () => {
    expect(await failed({}, { tcbEvaluationNumberMinimum: 17 })).toEqual([]);
    expect(await failed({}, { tcbEvaluationNumberMinimum: 18 })).toEqual(['QUOTE_TCB_EVALUATION refused']);
    const { quote, at, pins } = await fakeIntel({});
    const { claims } = await verifyQuote({ quote, at, pins });
    const checks = appraiseQuote(claims!, { ...neutralQuotePolicy, tcbEvaluationNumberMinimum: 1 });
    expect(checks.find(({ id }) => id === 'QUOTE_TCB_EVALUATION')?.status).toBe('missing');
  });
});

describe('pins of an SGX enclave', () => {
  const body = [
    [128, bytes(32, 0xd0)],
    [256, Uint8Array.of(7, 0)],
    [258, Uint8Array.of(5, 0)],
  ] as const;
  const bySigner: Partial<QuotePolicy> = { mrSigners: [hex32('d0')], isvProdIds: [7], isvSvnMinimum: 5 };

  it('A-M8 signer, product and security version are held', async () => {
    expect(await failed({ kind: 'sgx', body }, bySigner)).toEqual([]);
    const refused = (policy: Partial<QuotePolicy>) => failed({ kind: 'sgx', body }, { ...bySigner, ...policy });
    expect(await refused({ mrSigners: [hex32('d1')] })).toEqual(['SGX_MRSIGNER refused']);
    expect(await refused({ isvProdIds: [8] })).toEqual(['SGX_ISVPRODID refused']);
    expect(await refused({ isvSvnMinimum: 6 })).toEqual(['SGX_ISVSVN refused']);
  });

  it('A-M8 a list of TDs alone lets no unpinned enclave in, and does not keep out one pinned by its signer', async () => {
    const measurements = [hex48('00')];
    expect(await failed({ kind: 'sgx', body }, { measurements })).toEqual(['QUOTE_MEASUREMENT refused']);
    expect(await failed({ kind: 'sgx', body }, { measurements, ...bySigner })).toEqual([]);
  });
});

const production: AppraisalPolicy = { ...neutralPolicy, id: 'test:production', environment: 'production' };
const { snp, quote, nitro } = neutralPolicy;
const digest = [hex48('01')];
const byKind: Record<
  Exclude<CpuKind, 'simulated-snp'>,
  readonly [Partial<AppraisalPolicy>, Partial<AppraisalPolicy>][]
> = {
  snp: [
    [{ snp: { ...snp, measurements: digest } }, { snp: { ...snp, measurements: [] } }],
    [{ snp: { ...snp, idKeyDigests: digest, guestSvnMinimum: 1 } }, { snp: { ...snp, idKeyDigests: digest } }],
    [{ snp: { ...snp, measurements: digest } }, { snp: { ...snp, measurements: digest, allowDebug: true } }],
  ],
  tdx: [
    [
      { quote: { ...quote, measurements: digest, rtmrs: { 1: digest, 2: digest } } },
      { quote: { ...quote, measurements: digest } },
    ],
    [
      { quote: { ...quote, measurements: digest, rtmrs: { 1: digest, 2: digest } } },
      { quote: { ...quote, measurements: [hex32('01')], rtmrs: { 1: digest, 2: [hex48('00')] } } },
    ],
  ],
  sgx: [
    [{ quote: { ...quote, measurements: [hex32('01')] } }, { quote: { ...quote, measurements: digest } }],
    [
      { quote: { ...quote, mrSigners: [hex32('01')], isvProdIds: [1], isvSvnMinimum: 1 } },
      { quote: { ...quote, mrSigners: [hex32('01')], isvProdIds: [1] } },
    ],
  ],
  nitro: [
    [
      { nitro: { ...nitro, pcrs: { 0: digest, 1: digest, 2: digest } } },
      { nitro: { ...nitro, pcrs: { 0: digest, 1: digest } } },
    ],
  ],
};

function refusalOf(policy: AppraisalPolicy): CodedError | undefined {
  try {
    parsePolicy(JSON.stringify(policy));
    return undefined;
  } catch (error) {
    if (error instanceof CodedError) return error;
    throw error;
  }
}

describe('a production policy', () => {
  it('A-H2 names the kinds that it accepts', () => {
    expect(refusalOf(production)?.code).toBe('POLICY_NOT_PINNED');
    expect(refusalOf({ ...production, cpuKinds: [] })?.code).toBe('POLICY_NOT_PINNED');
    expect(refusalOf({ ...production, cpuKinds: ['simulated-snp'] })?.code).toBe('POLICY_NOT_PINNED');
  });

  for (const [kind, pairs] of Object.entries(byKind) as [CpuKind, (typeof byKind)['snp']][]) {
    it.each(pairs)(`A-H2 A-C2 pins the code of every kind that it accepts: ${kind} (%#)`, (pins, open) => {
      expect(refusalOf({ ...production, cpuKinds: [kind], ...pins })).toBeUndefined();
      const refusal = refusalOf({ ...production, cpuKinds: [kind], ...open });
      expect(refusal?.code).toBe('POLICY_NOT_PINNED');
      expect(refusal?.detail.expected).toContain(`${kind}: `);
      expect(refusalOf({ ...production, environment: 'development', cpuKinds: [kind], ...open })).toBeUndefined();
    });
  }

  it('A-H2 the policy of the attack is read by nobody, in no form, and appraises nothing', async () => {
    const attack = { ...production, quote: { ...quote, measurements: digest } };
    expect(() => decodePolicy(encodeDocument(attack))).toThrow('POLICY_NOT_PINNED');
    expect(() => signPolicy(attack, new Uint8Array(4), () => new Uint8Array(64))).toThrow('POLICY_NOT_PINNED');
    const evidence = { kind: 'snp', report: await fakeAmd('milan').report() } as const;
    const request = { evidence, endorsements: noEndorsements, policy: attack, at: fakeAmdAt };
    await expect(appraise(request)).rejects.toThrow('POLICY_NOT_PINNED');
  });

  const template = readFileSync(
    new URL('../../../apps/key-broker/policies/production-cpu.json', import.meta.url),
    'utf8',
  );

  it('A-H2 the template does not parse while its pins are open, says which, and parses once they are filled', () => {
    let refusal: unknown;
    try {
      parsePolicy(template);
    } catch (error) {
      refusal = error;
    }
    expect((refusal as CodedError).code).toBe('POLICY_NOT_PINNED');
    const { expected } = (refusal as CodedError).detail;
    for (const part of ['snp.measurements', 'quote.measurements', 'quote.rtmrs.1', 'quote.rtmrs.2'])
      expect(expected).toContain(part);
    const open = JSON.parse(template) as AppraisalPolicy;
    const filled = {
      ...open,
      snp: { ...open.snp, measurements: digest },
      quote: { ...open.quote, measurements: digest, rtmrs: { 1: digest, 2: digest } },
    };
    expect(parsePolicy(JSON.stringify(filled))).toMatchObject({ environment: 'production', cpuKinds: ['snp', 'tdx'] });
    expect(refusalOf({ ...open, cpuKinds: ['snp'], snp: filled.snp })).toBeUndefined();
    expect(openDemands(filled as AppraisalPolicy).map(({ field }) => field)).not.toContain('advisories');
  });
});

describe('what a policy leaves open', () => {
  it('A-H2 is said in words, for each kind that it accepts', () => {
    const fields = (policy: AppraisalPolicy) => openDemands(policy).map(({ field }) => field);
    expect(fields(neutralPolicy)).toEqual(
      expect.arrayContaining(['cpuKinds', 'snp', 'tdx', 'sgx', 'nitro', 'freshness', 'snp.tcbFloors', 'advisories']),
    );
    const pinned: AppraisalPolicy = { ...production, cpuKinds: ['snp'], snp: { ...snp, measurements: digest } };
    expect(fields(pinned)).not.toContain('snp');
    expect(fields(pinned).some((field) => field.startsWith('quote.'))).toBe(false);
    for (const { sentence } of openDemands(neutralPolicy)) expect(sentence.length).toBeGreaterThan(10);
  });

  it('A-H2 shrinks with each demand', () => {
    const more: AppraisalPolicy = { ...neutralPolicy, freshness: 'required', snp: { ...snp, products: ['Genoa'] } };
    expect(openDemands(more)).toHaveLength(openDemands(neutralPolicy).length - 2);
  });
});
