import { createHash, type webcrypto } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { fromHex, utf8 } from '../base/bytes.js';
import { verifyNras, type NrasKey, type NrasOpinion } from './nras.js';

const folder = `${process.env['VERITRAIN_VECTORS'] ?? '../shared/vectors'}/nvidia-gpu/nras-detached-eat-v3`;
const present = existsSync(folder);
if (!present) console.warn(`SKIPPED: no samples at ${folder}`);
const real = present ? readFileSync(`${folder}/detached-eat.json`, 'utf8') : '[]';
const realKeys: NrasKey[] = present ? JSON.parse(readFileSync(`${folder}/jwks-recovered.json`, 'utf8')).keys : [];
const nonce = fromHex('931d8dd0add203ac3d8b4fbde75e115278eefcdceac5b87671a748f32364dfcb');
const at = Date.parse('2025-06-11T01:00:00Z') / 1000;

const bad = ({ checks }: NrasOpinion): string[] =>
  checks.filter((check) => ['forged', 'missing', 'refused'].includes(check.status)).map((check) => check.code);
const judge = (tokens: string, change = {}): Promise<NrasOpinion> =>
  verifyNras({ tokens: utf8(tokens), keys: realKeys, nonce, at, ...change });

describe.skipIf(!present)('a real token of the attestation service', () => {
  it('is read as an opinion', async () => {
    const { authenticity, claims } = await judge(real);
    expect(authenticity).toBe('authentic');
    expect(claims).toMatchObject({ overall: true, issuedAt: 1749601858, expiresAt: 1749605458 });
    const decoded = JSON.parse(readFileSync(`${folder}/decoded.json`, 'utf8'));
    expect(claims?.gpus).toEqual(decoded);
  });

  it('is outdated outside its hour, not forged', async () => {
    for (const when of [1749601857, 1749605459]) {
      const opinion = await judge(real, { at: when });
      expect([opinion.authenticity, bad(opinion), opinion.claims]).toEqual([
        'undecided',
        ['NVIDIA_NRAS_TIME'],
        undefined,
      ]);
    }
  });

  it('is refused with another nonce, another key or an altered token', async () => {
    const replayed = await judge(real, { nonce: nonce.with(0, 0) });
    expect([replayed.authenticity, bad(replayed)]).toEqual(['authentic', ['NVIDIA_NRAS_NONCE']]);
    expect(bad(await judge(real, { keys: [] }))).toEqual(['NVIDIA_NRAS_KEY']);
    const swapped = [{ ...realKeys[0]!, x: realKeys[0]!.y, y: realKeys[0]!.x }];
    expect((await judge(real, { keys: swapped })).authenticity).toBe('forged');
    const jwts = real.match(/[\w-]{20,}\.[\w-]{20,}\.[\w-]{20,}/g)!;
    for (const jwt of jwts) {
      for (let n = 0; n < jwt.length; n += 61) {
        if (jwt[n] === '.') continue;
        const changed = jwt.slice(0, n) + (jwt[n] === 'A' ? 'B' : 'A') + jwt.slice(n + 1);
        expect((await judge(real.replace(jwt, changed))).authenticity, `${n}`).toBe('forged');
      }
    }
  });
});

describe('tokens signed by a test key', () => {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-384' };
  const text = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const base = { iss: 'https://nras.attestation.nvidia.com', eat_nonce: '11'.repeat(32), nbf: 0, iat: 0, exp: 100 };

  async function sign(
    keys: webcrypto.CryptoKeyPair,
    claims: object,
    header: object = { alg: 'ES384', kid: 'test-key' },
  ): Promise<string> {
    const signed = `${text(header)}.${text(claims)}`;
    const signature = await crypto.subtle.sign(
      { name: 'ECDSA', hash: 'SHA-384' },
      keys.privateKey,
      utf8(signed) as Uint8Array<ArrayBuffer>,
    );
    return `${signed}.${Buffer.from(signature).toString('base64url')}`;
  }

  async function opinion(overall: object, gpus: Record<string, object>, header?: object): Promise<NrasOpinion> {
    const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const { x, y } = await crypto.subtle.exportKey('jwk', keys.publicKey);
    const signed = await Promise.all(
      Object.entries(gpus).map(async ([name, claims]) => [name, await sign(keys, claims, header)] as const),
    );
    const submods = Object.fromEntries(
      signed.map(([name, jwt]) => [name, ['DIGEST', ['SHA-256', createHash('sha256').update(jwt).digest('hex')]]]),
    );
    const outer = [['JWT', await sign(keys, { ...base, submods, ...overall }, header)], Object.fromEntries(signed)];
    const key: NrasKey = { kid: 'test-key', kty: 'EC', crv: 'P-384', x: x!, y: y! };
    return verifyNras({ tokens: utf8(JSON.stringify(outer)), keys: [key], at: 50 });
  }

  it('accepts several GPUs, and says when the service said no', async () => {
    const result = await opinion({ 'x-nvidia-overall-att-result': false }, { 'GPU-0': base, 'GPU-1': base });
    expect(result.authenticity).toBe('authentic');
    expect(result.claims?.overall).toBe(false);
  });

  it.each([
    ['a submodule less', { submods: {} }, { 'GPU-0': base }, undefined, 'NVIDIA_NRAS_SUBMODULES'],
    [
      'another digest',
      { submods: { 'GPU-0': ['DIGEST', ['SHA-256', '00']] } },
      { 'GPU-0': base },
      undefined,
      'NVIDIA_NRAS_SUBMODULES',
    ],
    ['another issuer', {}, { 'GPU-0': { ...base, iss: 'https://nras.example' } }, undefined, 'NVIDIA_NRAS_ISSUER'],
    ['two nonces', {}, { 'GPU-0': { ...base, eat_nonce: '22' } }, undefined, 'NVIDIA_NRAS_NONCE'],
    ['no expiry', {}, { 'GPU-0': { ...base, exp: undefined } }, undefined, 'NVIDIA_NRAS_TIME'],
    ['no GPU', {}, {}, undefined, 'NVIDIA_NRAS_FORM'],
    ['alg none', {}, { 'GPU-0': base }, { alg: 'none', kid: 'test-key' }, 'NVIDIA_NRAS_FORM'],
    ['alg ES256', {}, { 'GPU-0': base }, { alg: 'ES256', kid: 'test-key' }, 'NVIDIA_NRAS_FORM'],
    ['a critical header', {}, { 'GPU-0': base }, { alg: 'ES384', kid: 'test-key', crit: ['b64'] }, 'NVIDIA_NRAS_FORM'],
    ['an unknown key', {}, { 'GPU-0': base }, { alg: 'ES384', kid: 'other' }, 'NVIDIA_NRAS_KEY'],
  ])('refuses %s', async (_, overall, gpus, header, code) => {
    const result = await opinion(overall, gpus as Record<string, object>, header);
    expect(bad(result)).toEqual([code]);
    expect(result.claims).toBeUndefined();
  });

  it.each(['', '[]', '{}', 'null', '[["JWT","a.b.c"],{}]', '[["JWT"],{"GPU-0":"a.b.c"}]', '['.repeat(100_000)])(
    'refuses what is no token (%#)',
    async (tokens) => {
      expect(bad(await verifyNras({ tokens: utf8(tokens), keys: [], at: 0 })).length).toBe(1);
    },
  );
});
