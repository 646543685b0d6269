/** A product, a firmware, a chip or an issuer is condemned as of a day, and whoever lists a chip answers for it. */
import { readFileSync } from 'node:fs';
import { ed25519 } from '@noble/curves/ed25519.js';
import { describe, expect, it } from 'vitest';
import { fakeAmd, fakeAmdAt } from '#test/fake-amd';
import { toHex } from '../base/bytes.js';
import { ed25519Signer } from '../base/cose.js';
import { encodeDocument } from '../check/document.js';
import {
  decodeAdvisories,
  parseAdvisories,
  signAdvisories,
  verifyAdvisories,
  type Advisories,
  type AdvisorySelector,
} from './advisories.js';
import { appraise } from './appraise.js';
import { compareAppraisals } from './compare.js';
import type { SuppliedAdvisories } from './condemned.js';
import { noEndorsements } from './evidence.js';
import { neutralPolicy, type AppraisalPolicy } from './policy.js';

const at = fakeAmdAt;
const amd = fakeAmd('milan');
const chip = toHex(amd.vendor.hwid);
const development: AppraisalPolicy = {
  ...neutralPolicy,
  id: 'test',
  environment: 'development',
  simulatedRoots: amd.roots,
  snp: { ...neutralPolicy.snp, revocation: 'not-demanded' },
};
const listing = { ...development, snp: { ...development.snp, chipsAllowed: [chip] } };
const demanding: AppraisalPolicy = { ...development, advisories: { demand: 'required', ageSecondsMax: 100 } };

const advisory = (condemns: readonly AdvisorySelector[], change: object = {}): Advisories => ({
  version: 1,
  id: 'test advisories',
  issued: at,
  advisories: [
    {
      ...{ id: 'TEST-1', title: 'a test', source: 'https://example.org', standing: 'preprint', severity: 'critical' },
      ...{ since: at - 10, effect: 'refuse', condemns },
      ...change,
    } as Advisories['advisories'][number],
  ],
});

async function judge(advisories: readonly SuppliedAdvisories[] | undefined, policy = development, when = at) {
  const result = await appraise({
    evidence: { kind: 'simulated-snp', report: await amd.report() },
    endorsements: { ...noEndorsements, certificates: amd.certificates, ...(advisories && { advisories }) },
    policy,
    at: when,
  });
  const check = result.checks.find(({ id }) => id === 'ADVISORY_CONDEMNED');
  return { result, tier: result.tier, status: check?.status, got: check?.got };
}

const condemned: [string, AdvisorySelector][] = [
  ['a product', { product: 'Milan' }],
  ['a firmware below a floor', { product: 'Milan', below: { snp: 255 } }],
  ['a firmware without a mitigation', { product: 'Milan', mitigationsMissing: '0000000000000010' }],
  ['a chip', { chip }],
  ['an issuer', { issuer: amd.vendor.arkSpkiSha256 }],
];
const spared: [string, AdvisorySelector][] = [
  ['another product', { product: 'Genoa' }],
  ['an older firmware', { product: 'Milan', below: { snp: 1 } }],
  ['another chip', { chip: '00'.repeat(64) }],
  ['another issuer', { issuer: '00'.repeat(32) }],
  ['its product with another chip', { product: 'Milan', chip: '00'.repeat(64) }],
];

describe('advisories', () => {
  it.each(condemned)('refuse %s, and name who says so', async (_, selector) => {
    const { tier, got } = await judge([advisory([selector])]);
    expect(tier).toBe('contraindicated');
    expect(got).toContain('TEST-1 (critical, preprint)');
    expect(got).toContain('https://example.org');
    expect((await judge([advisory([selector], { effect: 'warn' })])).status).toBe('warned');
  });

  it.each(spared)('spare %s', async (_, selector) => {
    expect((await judge([advisory([selector])])).status).toBe('met');
  });

  it('spare a product or firmware on a chip that the policy lists, with a warning; a chip or an issuer never', async () => {
    const statuses = [];
    for (const [, selector] of condemned) statuses.push((await judge([advisory([selector])], listing)).status);
    expect(statuses).toEqual(['warned', 'warned', 'warned', 'refused', 'refused']);
    const both = advisory([{ product: 'Milan' }, { chip }]);
    expect((await judge([both], listing)).status).toBe('refused');
  });

  it('count from their day on: verified then, not now', async () => {
    const later = advisory([{ product: 'Milan' }], { since: at + 50 });
    const before = await judge([later]);
    const after = await judge([later], development, at + 50);
    expect([before.status, after.status]).toEqual(['met', 'refused']);
    const comparison = compareAppraisals(before.result, after.result);
    expect(comparison.change).toBe('verified-then-not-now');
    expect(comparison.differences.map(({ cause, after: now }) => `${cause} ${now!.got.slice(0, 6)}`)).toEqual([
      'advisory TEST-1',
    ]);
    expect(compareAppraisals(after.result, before.result).change).toBe('verified-now-not-then');
    expect(compareAppraisals(after.result, after.result).change).toBe('none');
  });

  it('are missing where they are demanded and absent or too old, and no check where they are neither', async () => {
    expect(await judge(undefined)).toMatchObject({ status: undefined, tier: 'warning' });
    expect(await judge(undefined, demanding)).toMatchObject({ status: 'missing', tier: 'none' });
    const other = advisory([{ product: 'Genoa' }]);
    expect((await judge([other], demanding, at + 100)).status).toBe('met');
    expect((await judge([other], demanding, at + 101)).status).toBe('missing');
    const hit = advisory([{ product: 'Milan' }]);
    expect((await judge([hit], demanding, at + 101)).status).toBe('refused');
  });

  it('are taken in their newest edition, so that one can be withdrawn', async () => {
    const old = advisory([{ product: 'Milan' }]);
    const withdrawn = { ...old, issued: at + 1, advisories: [] };
    expect((await judge([withdrawn, old])).status).toBe('met');
    expect((await judge([old, { ...withdrawn, id: 'another document' }])).status).toBe('refused');
  });

  it('count signed by a key of the policy alone', async () => {
    const secret = new Uint8Array(32).fill(7);
    const signer = toHex(ed25519.getPublicKey(secret));
    const document = advisory([{ product: 'Milan' }]);
    const signed = await signAdvisories(document, new Uint8Array(4), ed25519Signer(secret));
    expect(await verifyAdvisories(signed, ed25519.getPublicKey(secret))).toEqual(document);
    const trusting = (key: string): AppraisalPolicy => ({
      ...development,
      advisories: { demand: 'required', signers: [key] },
    });
    expect((await judge([signed], trusting(signer))).status).toBe('refused');
    const foreign = await judge([signed], trusting('11'.repeat(32)));
    expect(foreign).toMatchObject({ status: 'missing', tier: 'none' });
    expect(foreign.got).toContain('1 signed by no key of the policy');
    expect((await judge([signed.with(signed.length - 1, 0)], trusting(signer))).status).toBe('missing');
  });

  it('that condemn everything or nothing in particular do not parse', () => {
    const text = (condemns: readonly object[]) => JSON.stringify(advisory(condemns));
    for (const wrong of [[{}], [{ below: { snp: 1 } }], [{ product: 'GH100', mitigationsMissing: '00'.repeat(8) }]])
      expect(() => parseAdvisories(text(wrong))).toThrow('DOCUMENT_SHAPE');
    const document = advisory([{ product: 'Milan' }]);
    expect(parseAdvisories(JSON.stringify(document))).toEqual(document);
    expect(decodeAdvisories(encodeDocument(document))).toEqual(document);
  });
});

describe('the advisories that are shipped', () => {
  const shipped = parseAdvisories(
    readFileSync(new URL('../../../apps/key-broker/policies/advisories.json', import.meta.url), 'utf8'),
  );

  it('name source, standing and severity of each, AMD-SB-3034 and the preprint on Milan among them', () => {
    const byId = new Map(shipped.advisories.map((one) => [one.id, one]));
    expect(byId.get('arXiv:2605.12990')).toMatchObject({
      standing: 'preprint',
      severity: 'critical',
      effect: 'refuse',
    });
    expect(byId.get('AMD-SB-3034')).toMatchObject({ standing: 'vendor', effect: 'warn' });
  });

  it('refuse Milan from the day of the preprint on, under any firmware, unless the owner lists the chip', async () => {
    const { since } = shipped.advisories.find(({ id }) => id === 'arXiv:2605.12990')!;
    expect((await judge([shipped], development, since - 1)).tier).toBe('warning');
    expect((await judge([shipped], development, since)).tier).toBe('contraindicated');
    expect((await judge([shipped], listing, since)).status).toBe('warned');
  });
});
