import { createHash, createPublicKey, verify, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeSamples } from '#test/describe-samples';
import { samplesRoot } from '#test/samples';
import { parseCollateralBundle, readPcsResponse } from './collateral.js';
import { parseQuote } from './quote.js';
import { intelRootSpkiSha256, verifyQuote, type QuoteRequest } from './verify.js';

const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const at = Date.parse('2025-06-19T12:00:00Z') / 1000;

const read = (file: string) => new Uint8Array(readFileSync(join(samplesRoot, file)));
const tdxCollateral = 'intel-tdx/v4-td10-with-collateral/collateral.json';
const sgxCollateral = 'intel-sgx/v3-with-collateral/collateral.json';
const bundle = (file: string) => parseCollateralBundle(new TextDecoder().decode(read(file)));

function sample(folder: string, collateral: string): QuoteRequest {
  return { quote: read(`${folder}/quote.bin`), at, pins: new Set([intelRootSpkiSha256]), ...bundle(collateral) };
}

/** Status by code; a thrown error fails the test. */
async function outcome(request: QuoteRequest) {
  const { authenticity, checks, claims } = await verifyQuote(request);
  expect(claims === undefined).toBe(authenticity !== 'authentic');
  return {
    authenticity,
    failed: checks.filter(({ status }) => status !== 'met').map(({ code, status }) => `${code} ${status}`),
  };
}

const flipped = (bytes: Uint8Array, offset: number, bit: number) => {
  const copy = bytes.slice();
  copy[offset]! ^= 1 << bit;
  return copy;
};
const replaced = (bytes: Uint8Array, offset: number, part: Uint8Array) => {
  const copy = bytes.slice();
  copy.set(part, offset);
  return copy;
};
const be32 = (value: bigint) => Uint8Array.from(Buffer.from(value.toString(16).padStart(64, '0'), 'hex'));
const offsetOf = (quote: Uint8Array, name: string) =>
  parseQuote(quote).fields.find((field) => field.name === name)!.offset;

const accepted = {
  'intel-tdx/v4-td10-with-collateral': tdxCollateral,
  'intel-sgx/v3-with-collateral': sgxCollateral,
};
const allQuotes = [
  'intel-tdx/v4-td10-with-collateral',
  'intel-tdx/v5-td15-no-matching-tcb-level',
  'intel-tdx/v5-td15-google',
  'intel-tdx/v4-td10-google-spr',
  'intel-tdx/v4-azure-vtpm',
  'intel-tdx/v4-td10-debug',
  'intel-sgx/v3-with-collateral',
  'intel-sgx/v3-automata-icelake',
  'intel-sgx/v3-debug-enclave-coffeelake',
];

describeSamples('real quotes', () => {
  for (const folder of allQuotes) {
    it(`${folder}: node:crypto agrees on every signature and link`, () => {
      const quote = parseQuote(read(`${folder}/quote.bin`));
      const pems = Buffer.from(quote.pckChain)
        .toString()
        .match(/-----BEGIN[^]*?END CERTIFICATE-----/g)!;
      const [leaf, intermediate, root] = pems.map((pem) => new X509Certificate(pem));
      expect(leaf!.verify(intermediate!.publicKey) && intermediate!.verify(root!.publicKey)).toBe(true);
      const spki = root!.publicKey.export({ type: 'spki', format: 'der' });
      expect(createHash('sha256').update(spki).digest('hex')).toBe(intelRootSpkiSha256);
      const raw = (key: Uint8Array) => ({ key, dsaEncoding: 'ieee-p1363' as const });
      const [x, y] = [quote.attestationKey.subarray(0, 32), quote.attestationKey.subarray(32)].map((half) =>
        Buffer.from(half).toString('base64url'),
      );
      const key = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x: x!, y: y! }, format: 'jwk' });
      const by = (publicKey: typeof key) => ({ ...raw(new Uint8Array()), key: publicKey });
      expect(verify('sha256', quote.signedBytes, by(key), quote.quoteSignature)).toBe(true);
      expect(verify('sha256', quote.qeReportBytes, by(leaf!.publicKey), quote.qeReportSignature)).toBe(true);
    });
  }

  for (const [folder, collateral] of Object.entries(accepted)) {
    const good = sample(folder, collateral);
    const declared = parseQuote(good.quote).trailing.length;

    it(`${folder}: one bit in every field, at many places of it`, async () => {
      const { fields } = parseQuote(good.quote);
      for (const { name, offset, bytes } of fields.filter((field) => field.name !== 'trailing')) {
        const step = name === 'pckChain' ? 13 : bytes.length > 16 ? 5 : 1;
        for (let i = 0; i < bytes.length; i += step) {
          const { authenticity } = await outcome({ ...good, quote: flipped(good.quote, offset + i, (i * 5) % 8) });
          expect(authenticity, `${name} + ${i}`).toBe('forged');
        }
      }
    }, 120_000);

    it(`${folder}: truncated at every length`, async () => {
      for (let length = 0; length < good.quote.length - declared; length++) {
        const { authenticity } = await outcome({ ...good, quote: good.quote.subarray(0, length) });
        expect(authenticity, `${length} bytes`).toBe('forged');
      }
      expect(
        (await outcome({ ...good, quote: good.quote.subarray(0, good.quote.length - declared) })).authenticity,
      ).toBe('authentic');
    });

    it(`${folder}: r and s out of range, swapped or reversed`, async () => {
      for (const name of ['signature.quoteSignature', 'qe.qeReportSignature']) {
        const code = name.startsWith('qe') ? 'QUOTE_QE_SIGNATURE' : 'QUOTE_SIGNATURE';
        const offset = offsetOf(good.quote, name);
        const [r, s] = [good.quote.slice(offset, offset + 32), good.quote.slice(offset + 32, offset + 64)];
        for (const part of [be32(0n), be32(order), be32(order + 1n), be32(2n ** 256n - 1n)]) {
          for (const half of [0, 32]) {
            expect((await outcome({ ...good, quote: replaced(good.quote, offset + half, part) })).failed).toContain(
              `${code} forged`,
            );
          }
        }
        for (const both of [
          [...s, ...r],
          [...r.toReversed(), ...s.toReversed()],
        ]) {
          const quote = replaced(good.quote, offset, Uint8Array.from(both));
          expect((await outcome({ ...good, quote })).failed).toContain(`${code} forged`);
        }
      }
    });

    it(`${folder}: certificates in another order, missing, twice or in another spelling`, async () => {
      const { pckChain } = parseQuote(good.quote);
      const text = new TextDecoder().decode(pckChain);
      const tail = text.endsWith('\0') ? '\0' : '';
      const [leaf, middle, root] = text.match(/-----BEGIN[^]*?END CERTIFICATE-----\n/g)! as [string, string, string];
      const chains = [
        [leaf, root, middle],
        [middle, leaf, root],
        [middle, root, leaf],
        [root, leaf, middle],
        [root, middle, leaf],
        [leaf, middle, root, root],
        [leaf, leaf, middle, root],
        [leaf, root],
        [middle, root],
        ['\n', leaf, middle, root],
        ['comment\n', leaf, middle, root],
        [leaf, middle, root, '\n'],
        [leaf.replaceAll('\n', '\r\n'), middle, root],
      ];
      for (const chain of chains) {
        const { authenticity } = await outcome({ ...good, quote: withChain(good.quote, chain.join('') + tail) });
        expect(authenticity).toBe('forged');
      }
      const open = await outcome({ ...good, quote: withChain(good.quote, leaf + middle) });
      expect(open.failed).toContain('X509_PATH_ISSUER_MISSING forged');
      expect((await outcome({ ...good, quote: withChain(good.quote, text) })).authenticity).toBe('authentic');
    });

    it(`${folder}: at other times and under other roots`, async () => {
      const early = await outcome({ ...good, at: Date.parse('2020-01-01T00:00:00Z') / 1000 });
      expect(early.failed).toContain('X509_PATH_NOT_YET refused');
      const late = await outcome({ ...good, at: Date.parse('2027-01-01T00:00:00Z') / 1000 });
      expect(late.authenticity).toBe('authentic');
      expect(late.failed).toEqual([
        'QUOTE_TCB_INFO_EXPIRED missing',
        'QUOTE_QE_IDENTITY_EXPIRED missing',
        'QUOTE_QE_MISMATCH missing',
      ]);
      const never = await outcome({ ...good, at: Date.parse('2040-01-01T00:00:00Z') / 1000 });
      expect(never.failed).toContain('X509_PATH_EXPIRED refused');
      expect((await outcome({ ...good, pins: new Set(['00'.repeat(32)]) })).failed).toContain('X509_PATH_ROOT forged');
    });

    it(`${folder}: collateral altered in many places`, async () => {
      const { tcbInfo, qeIdentity } = good.collateral! as Required<NonNullable<typeof good.collateral>>;
      const alter = (text: string, i: number) =>
        text.slice(0, i) + String.fromCharCode(text.charCodeAt(i) ^ 1) + text.slice(i + 1);
      for (let i = 0; i < tcbInfo.json.length; i += 61) {
        const json = alter(tcbInfo.json, i);
        const { failed } = await outcome({ ...good, collateral: { tcbInfo: { ...tcbInfo, json }, qeIdentity } });
        expect(failed).toContain('QUOTE_TCB_INFO_SIGNATURE refused');
      }
      for (let i = 0; i < qeIdentity.json.length; i += 31) {
        const json = alter(qeIdentity.json, i);
        const { failed } = await outcome({ ...good, collateral: { tcbInfo, qeIdentity: { ...qeIdentity, json } } });
        expect(failed).toContain('QUOTE_QE_IDENTITY_SIGNATURE refused');
      }
      const spaced = { ...tcbInfo, json: `${tcbInfo.json} ` };
      const { failed } = await outcome({ ...good, collateral: { tcbInfo: spaced, qeIdentity } });
      expect(failed).toContain('QUOTE_TCB_INFO_SIGNATURE refused');
      const crossed = { tcbInfo: qeIdentity, qeIdentity: tcbInfo };
      const swapped = await outcome({ ...good, collateral: crossed });
      expect(swapped.failed).toEqual(['MESSAGE_SHAPE refused', 'MESSAGE_SHAPE refused', 'QUOTE_QE_MISMATCH missing']);
    });

    it(`${folder}: revocation lists altered in many places`, async () => {
      const [rootList, pckList] = good.crls! as [Uint8Array, Uint8Array];
      for (let i = 0; i < rootList.length; i += 3) {
        const request = { ...good, crls: [flipped(rootList, i, i % 8), pckList] };
        const { failed } = await outcome(request);
        if (failed.length === 0) expect(await revocationOf(request)).toBe('unknown');
        else expect(failed, `byte ${i}`).toEqual([expect.stringMatching(/ refused$/)]);
      }
    });
  }

  it('takes collateral of another platform for missing, not for good', async () => {
    const request = sample('intel-tdx/v4-td10-with-collateral', sgxCollateral);
    const { authenticity, failed } = await outcome(request);
    expect(authenticity).toBe('authentic');
    expect(failed).toEqual([
      'QUOTE_TCB_INFO_OTHER_PLATFORM missing',
      'QUOTE_QE_IDENTITY_OTHER_ENCLAVE missing',
      'QUOTE_QE_MISMATCH missing',
    ]);
  });

  it('splits a PCS answer without touching the signed text', () => {
    const text = new TextDecoder().decode(read('intel-tdx/v4-td10-google-spr/tcb-info.json'));
    const document = readPcsResponse(text);
    expect(text).toContain(`{"tcbInfo":${document.json},"signature":"`);
    expect(() => readPcsResponse(text.replace('tcbInfo', 'tcb'))).toThrow('QUOTE_COLLATERAL_FORMAT');
    expect(() => readPcsResponse(text.replace('"signature":"', '"signature":"0'))).toThrow('QUOTE_COLLATERAL_FORMAT');
  });
});

async function revocationOf(request: QuoteRequest) {
  return (await verifyQuote(request)).claims?.revocation.state;
}

/** The quote with another PEM text, all lengths adapted. */
function withChain(quote: Uint8Array, pem: string): Uint8Array {
  const { fields, pckChain, version, trailing } = parseQuote(quote);
  const end = quote.length - trailing.length;
  const chain = new TextEncoder().encode(pem);
  const out = new Uint8Array(end - pckChain.length + chain.length);
  out.set(quote.subarray(0, end - pckChain.length));
  out.set(chain, end - pckChain.length);
  const lengths = ['signatureDataLength', 'certificationLength', ...(version === 3 ? [] : ['qeCertificationLength'])];
  for (const { offset } of fields.filter((field) => lengths.includes(field.name))) {
    new DataView(out.buffer).setUint32(offset, out.length - offset - 4, true);
  }
  return out;
}
