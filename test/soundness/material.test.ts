/** What a reader lays beside a bundle counts by its own bytes, is named where it does not, and forged material changes nothing. */
import { beforeAll, describe, expect, it } from 'vitest';
import { parseCertificate, readMaterial, verifyBundle, type BundleRequest } from '#attestation';
import { toBase64, utf8 } from '#attestation/base';
import { fakeAmd } from '#test/fake-amd';
import { tinyBundle } from '#test/tiny-bundle';
import { tinyAt } from '#test/tiny-job';
import { mutants } from './mutants.js';

const amd = fakeAmd('milan');
const dates = { thisUpdate: tinyAt - 60, nextUpdate: tinyAt + 60 };
const { encoded, job } = await tinyBundle();
const judge = (material: readonly Uint8Array[], more: Partial<BundleRequest> = {}) =>
  verifyBundle({ bundle: encoded, policy: job.policy, material, ...more });
let good: Uint8Array;
let revoking: Uint8Array;
let foreign: Uint8Array;
beforeAll(async () => {
  const { serial } = parseCertificate(amd.vendor.ask);
  good = await amd.crl(dates);
  revoking = await amd.crl({ ...dates, revokedSerials: [serial] });
  foreign = await fakeAmd('milan-other').crl({ ...dates, revokedSerials: [serial] });
});

const revocation = ({ checks }: Awaited<ReturnType<typeof judge>>) => [
  ...new Set(checks.filter(({ id }) => id === 'SNP_REVOKED').map(({ status }) => status)),
];

describe('material beside a bundle', () => {
  it('answers what the bundle leaves open, and turns the verdict where it speaks against the chip', async () => {
    const alone = await judge([]);
    expect([alone.tier, revocation(alone), alone.material]).toEqual(['warning', ['warned'], []]);
    const current = await judge([good]);
    expect([current.tier, revocation(current)]).toEqual(['warning', ['met']]);
    expect(current.material).toMatchObject([{ kind: 'crl', counts: true }]);
    const revoked = await judge([good, revoking]);
    expect([revoked.tier, revocation(revoked)]).toEqual(['contraindicated', ['refused']]);
    expect(revoked.material.map(({ counts }) => counts)).toEqual([false, true]);
  });

  it('is named where it is nothing that this reader knows, or changes nothing', async () => {
    const pem = utf8(`-----BEGIN X509 CRL-----\n${toBase64(good)}\n-----END X509 CRL-----\n`);
    const { material, tier } = await judge([utf8('a letter'), foreign, new Uint8Array(), amd.vendor.ark, pem]);
    expect(tier).toBe('warning');
    expect(material.map(({ kind, counts }) => [kind, counts])).toEqual([
      ...[['unknown', false] as const, ['crl', false] as const, ['unknown', false] as const],
      ...[['certificates', false] as const, ['crl', true] as const],
    ]);
  });

  it('may be the reader’s own policy, which no longer is the maker’s', async () => {
    const policy = utf8(JSON.stringify(job.policy));
    const { checks, material } = await verifyBundle({ bundle: encoded, material: [policy] });
    expect(checks.find(({ id }) => id === 'BUNDLE_POLICY')?.status).toBe('met');
    expect(material).toMatchObject([{ kind: 'policy', counts: true }]);
    const second = await judge([policy]);
    expect(second.material).toMatchObject([{ kind: 'policy', counts: false }]);
  });

  it('changes no verdict when it is forged, and never ends the judgement', async () => {
    for (const changed of mutants(revoking, 12)) {
      const kind = readMaterial(changed)?.kind;
      expect([undefined, 'crl']).toContain(kind);
      if (kind === 'crl') expect((await judge([changed])).tier).toBe('warning');
    }
    for (const length of [1, 4, 40, good.length - 1]) expect(readMaterial(good.subarray(0, length))).toBeUndefined();
    expect(readMaterial(new Uint8Array(5 * 1024 * 1024).fill(0x30))).toBeUndefined();
    await expect(judge(Array.from({ length: 65 }, () => good))).rejects.toThrow('BUNDLE_MATERIAL');
  });
});

describe('progress', () => {
  it('counts sessions and segments up to their number', async () => {
    const seen: (readonly [number, number])[] = [];
    await judge([], { progress: async (done, of) => void seen.push([done, of]) });
    const [, of] = seen[0]!;
    expect(of).toBe(2 + 3);
    expect(seen.map(([done]) => done)).toEqual(seen.map((_, index) => Math.min(index + 1, of)));
  });

  it('is where whoever waits can leave', async () => {
    const left = new Error('left');
    await expect(judge([], { progress: () => Promise.reject(left) })).rejects.toBe(left);
  });
});

it('says of every check what it is about and what it means', async () => {
  const { checks } = await judge([]);
  expect(checks.every(({ means, subject }) => means !== '' && subject !== undefined)).toBe(true);
  expect(checks.filter(({ subject }) => subject === 'bundle').every(({ id }) => /^(BUNDLE|LOG)_/.test(id))).toBe(true);
  const sessions = checks.flatMap(({ subject }) => (typeof subject === 'object' ? subject.session : []));
  expect([...new Set(sessions)]).toEqual([0, 1]);
});
