/** A quote with a remote service's token: what is authentic, what is bound, what is missing, and nothing else is said. */
import type { webcrypto } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadSamples, samplesRoot } from '#test/samples';
import { runSample } from './index.js';

const folder = `${samplesRoot}/composite-nras/tdx-gh100-nras-2026-07`;
const present = existsSync(folder);
const read = (name: string): Uint8Array =>
  present ? new Uint8Array(readFileSync(`${folder}/${name}`)) : new Uint8Array();
const quote = read('tdx-quote.bin');
const nrasToken = read('nras-token.json');
const at = 1_784_100_300;

const judge = (files: Readonly<Record<string, Uint8Array>> = { quote, nrasToken }, anchors: readonly string[] = []) =>
  runSample({ id: 'tdx-gh100-nras-2026-07', files: new Map(Object.entries(files)), anchors, at });
const statusOf = ({ checks }: Awaited<ReturnType<typeof judge>>) =>
  Object.fromEntries(checks.map(({ id, status }) => [id, status]));

describe.skipIf(!present)('the real TDX quote with a token about a GH100', () => {
  it('is neither forged nor passed: the quote is authentic, the token unchecked, the GPU report missing', async () => {
    const report = await judge();
    expect(report).toMatchObject({ vendor: 'composite-nras', authentic: false, authenticity: 'undecided' });
    expect(report.appraisal).toBe('none');
    const status = statusOf(report);
    for (const id of ['QUOTE_PCK_CHAIN', 'QUOTE_QE_SIGNATURE', 'QUOTE_SIGNATURE', 'TDX_DEBUG']) {
      expect([id, status[id]]).toEqual([id, 'met']);
    }
    for (const id of ['QUOTE_TCB_INFO', 'QUOTE_REVOKED', 'NVIDIA_NRAS_SIGNATURE', 'COMPOSITE_GPU_REPORT']) {
      expect([id, status[id]]).toEqual([id, 'missing']);
    }
    expect([status['NVIDIA_NRAS_FORM'], status['NVIDIA_NRAS_SUBMODULES']]).toEqual(['met', 'met']);
    expect(report.checks.some(({ status: one }) => one === 'forged' || one === 'refused')).toBe(false);
  });

  it('is bound as far as bytes can show: the nonce stands in REPORT_DATA, which is a warning and no more', async () => {
    expect(statusOf(await judge())['COMPOSITE_TOKEN_NONCE']).toBe('warned');
    const text = new TextDecoder().decode(nrasToken);
    const [overall] = text.match(/eyJraWQ[\w-]+\.[\w-]+\.[\w-]+/g)!;
    const [head, body, signature] = overall.split('.') as [string, string, string];
    const claims = Buffer.from(body, 'base64url')
      .toString()
      .replace(/"eat_nonce":"3d/, '"eat_nonce":"3e');
    const other = text.replace(overall, [head, Buffer.from(claims).toString('base64url'), signature].join('.'));
    expect(statusOf(await judge({ quote, nrasToken: new TextEncoder().encode(other) }))).toMatchObject({
      NVIDIA_NRAS_NONCE: 'forged',
    });
  });

  it('is forged where a byte of the quote is altered, and refused where token and quote are of two sessions', async () => {
    const altered = quote.slice();
    altered[600]! ^= 1;
    const forged = await judge({ quote: altered, nrasToken });
    expect(forged).toMatchObject({ authenticity: 'forged', appraisal: 'contraindicated' });
    const foreign = loadSamples('intel-tdx')
      .find(({ id }) => id === 'v4-td10-google-spr')!
      .files.get('quote')!;
    const mixed = await judge({ quote: foreign, nrasToken });
    expect(statusOf(mixed)['COMPOSITE_TOKEN_NONCE']).toBe('refused');
    expect(mixed.appraisal).toBe('contraindicated');
  });

  it('checks the token where keys are handed over: another key is a forgery, another kid decides nothing', async () => {
    const kid = /"kid":"([^"]+)"/.exec(
      Buffer.from(new TextDecoder().decode(nrasToken).match(/eyJraWQ[\w-]+/)![0], 'base64url').toString(),
    )![1]!;
    const { publicKey } = (await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-384' }, true, [
      'sign',
      'verify',
    ])) as webcrypto.CryptoKeyPair;
    const { x, y } = await crypto.subtle.exportKey('jwk', publicKey);
    const withKid = async (name: string) => {
      const jwks = new TextEncoder().encode(JSON.stringify({ keys: [{ kid: name, kty: 'EC', crv: 'P-384', x, y }] }));
      return statusOf(await judge({ quote, nrasToken, jwks }))['NVIDIA_NRAS_SIGNATURE'];
    };
    expect([await withKid(kid), await withKid('another')]).toEqual(['forged', 'missing']);
  });

  it('is, as every genuine sample, not called forged for want of anchors', async () => {
    for (const sample of loadSamples().filter((one) => one.expect?.authentic === true)) {
      const report = await runSample({ ...sample, anchors: [] });
      expect([sample.id, report.authenticity]).not.toEqual([sample.id, 'forged']);
    }
  });
});
