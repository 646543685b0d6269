/** A report is the same bytes from whoever makes it, holds what was judged, and cannot be bent or swapped unseen. */
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { toHex } from '#attestation/base';
import { fixturePath } from '#test/fixture';
import {
  differencesOf,
  encodeReport,
  headingOf,
  makeReport,
  openReport,
  parseReport,
  readSigningKey,
  reviewBundle,
  signReport,
  type Reviewer,
} from './index.js';
import { releaseVersion } from './text/index.js';

const bundle = new Uint8Array(readFileSync(fixturePath('bundles/version-4.cbor')));
const reviewer: Reviewer = { name: 'veritrain', version: '0.0.0', scriptSha256: null };
const verdict = await reviewBundle({ bundle });
const report = makeReport(bundle, [{ at: null, verdict }], reviewer);
const bytes = encodeReport(report);
const pem = (): string => generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
const armour = (which: string): string => `-----${which} ${'PRIVATE'} KEY-----`;
const text = pem();
const key = readSigningKey(Buffer.from(text));

describe('a report', () => {
  it('is the same bytes whenever it is made, and reads back as what it says', async () => {
    const again = makeReport(bundle, [{ at: null, verdict: await reviewBundle({ bundle }) }], reviewer);
    expect(toHex(encodeReport(again))).toBe(toHex(bytes));
    expect(parseReport(bytes)).toEqual(JSON.parse(JSON.stringify(report)));
    expect(report.judgements[0]!.checks.length).toBe(verdict.checks.length);
    expect(headingOf(verdict)).toBe('simulated');
  });

  it('differs where bundle, time or checks differ, and not where another program made it', async () => {
    const page: Reviewer = { name: 'veritrain reviewer', version: '1', scriptSha256: 'ab' };
    expect(differencesOf(report, { ...report, reviewer: page })).toEqual([]);
    const later = await reviewBundle({ bundle, at: 4_000_000_000 });
    expect(differencesOf(report, makeReport(bundle, [{ at: 4_000_000_000, verdict: later }], reviewer))).toEqual([
      'judgements[0]',
    ]);
    const longer = { ...report, judgements: [...report.judgements, ...report.judgements] };
    expect(differencesOf(report, longer)).toEqual(['judgements[1]']);
    expect(differencesOf(report, { ...report, bundle: { ...report.bundle, sha256: '00' } })).toEqual(['bundle']);
    const [judgement] = report.judgements as [(typeof report.judgements)[number]];
    const [check, ...others] = judgement.checks as [(typeof judgement.checks)[number]];
    const withFirst = (first: typeof check) => ({
      ...report,
      judgements: [{ ...judgement, checks: [first, ...others] }],
    });
    expect(differencesOf(report, withFirst({ ...check, got: 'the same in other words' }))).toEqual([
      'judgements[0] in words alone, as where another release judged',
    ]);
    expect(differencesOf(report, withFirst({ ...check, status: 'forged' }))).toEqual(['judgements[0]']);
  });

  it.each([
    ['not canonical', Buffer.from(JSON.stringify(report, null, 1))],
    ['cut', bytes.subarray(0, -2)],
    ['another version', Buffer.from(Buffer.from(bytes).toString().replace('"version":1}', '"version":2}'))],
    ['no judgement', Buffer.from('{"bundle":{"sha256":""},"judgements":[],"version":1}\n')],
    ['judgements of null', Buffer.from('{"bundle":{"sha256":""},"judgements":[null],"version":1}\n')],
    ['too long', new Uint8Array(1024 * 1024 + 1)],
  ])('is refused when it is %s', (_, changed) => {
    expect(() => parseReport(new Uint8Array(changed))).toThrow(/REPORT_(SHAPE|SIZE)/);
  });
});

describe('a signed report', () => {
  it('holds the very bytes, and names its signer', async () => {
    const opened = await openReport(await signReport(bytes, key));
    expect(toHex(opened.bytes)).toBe(toHex(bytes));
    const own = createPrivateKey(text).export({ format: 'jwk' }) as { x: string };
    expect(Buffer.from(opened.signer).toString('base64url')).toBe(own.x);
  });

  it('falls with any byte of it', async () => {
    const signed = await signReport(bytes, key);
    const places = [0, 3, 40, 80, 200, Math.floor(signed.length / 2), signed.length - 70, signed.length - 1];
    for (const place of places) {
      const changed = signed.slice();
      changed[place]! ^= 1;
      await expect(openReport(changed)).rejects.toMatchObject({ code: expect.any(String) as string });
    }
    await expect(openReport(signed.subarray(0, -1))).rejects.toMatchObject({ code: expect.any(String) as string });
  });
});

it('carries the version of the package', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  expect(releaseVersion).toBe(version);
});

it.each(['', 'x', text.replace('PRIVATE', 'PUBLIC'), `${armour('BEGIN')}\n!\n${armour('END')}`])(
  'takes no file %# for a signing key',
  (file) => {
    expect(() => readSigningKey(Buffer.from(file))).toThrow('REPORT_KEY');
  },
);

it('judges bundles of former versions with the same extra check', async () => {
  for (const version of [1, 2, 3]) {
    const former = new Uint8Array(readFileSync(fixturePath(`former-bundles/version-${version}.cbor`)));
    const { checks } = await reviewBundle({ bundle: former });
    expect(checks.filter(({ id }) => id === 'BUNDLE_START').length).toBe(1);
  }
});
