/** A log and a witness as processes: entries in, proofs out, and what is refused. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toHex } from '#attestation/base';
import { makePublicEntry } from '#attestation/log';
import { fetchCheckpoint, TileReader, tilesOf } from '#libs/log';
import { releaseEntry, startLogSite, unixNow } from '#test/log-processes';
import { issuerOf } from '#test/log-site';

const issuer = issuerOf('broker.example');
const stranger = issuerOf('stranger.example');
let site: Awaited<ReturnType<typeof startLogSite>>;
beforeAll(async () => {
  site = await startLogSite();
});
afterAll(() => site.stop());

describe('a log with a witness', () => {
  it('proves an entry under a checkpoint that the witness saw, once and again', async () => {
    const entry = await releaseEntry(1);
    const first = await site.submit(entry);
    expect(first.trusted.witnessedAt).toBeGreaterThan(unixNow() - 60);
    expect(first.trusted.independent).toEqual(['witness.example']);
    const more = await Promise.all([2, 3, 4, 5].map(async (seed) => site.submit(await releaseEntry(seed))));
    expect(new Set(more.map(({ index }) => index)).size).toBe(4);
    expect((await site.submit(entry)).text).toBe(first.text);
  });

  it('serves tiles and bundles that give the root it signed', async () => {
    const { checkpoint } = await fetchCheckpoint(site.url, site.policy);
    const reader = new TileReader(tilesOf(site.url), checkpoint.size);
    expect(toHex(await reader.root())).toBe(toHex(checkpoint.root));
    expect(await reader.entries(0)).toHaveLength(checkpoint.size);
    const plain = await fetch(`${site.url}/tile/entries/000.p/${checkpoint.size}`, {
      headers: { 'accept-encoding': 'gzip' },
    });
    expect([plain.headers.get('content-encoding'), plain.headers.get('cache-control')]).toEqual([
      'gzip',
      'public, max-age=31536000, immutable',
    ]);
  });

  it('takes no entry of a stranger, none of another kind or time, none that is altered or too long', async () => {
    const image = {
      name: 'enclave',
      version: '1',
      digest: new Uint8Array(32),
      measurements: [],
      commit: new Uint8Array(20),
      sbom: null,
    };
    const send = async (body: Uint8Array, path = 'v1/entries'): Promise<unknown[]> => {
      const response = await fetch(`${site.url}/${path}`, { method: 'POST', body: Uint8Array.from(body) });
      return [response.status, ((await response.json()) as { code: string }).code];
    };
    const by = (who: typeof issuer, at = unixNow()) => makePublicEntry(who, 'image', image, at);
    expect(await send(await by(stranger))).toEqual([403, 'LOG_ISSUER']);
    expect(await send(await by({ ...issuer, name: 'other.example' }))).toEqual([403, 'LOG_ISSUER']);
    expect(await send(await by(issuer, unixNow() + 1000))).toEqual([400, 'LOG_ENTRY_TIME']);
    expect(await send(await by(issuer, unixNow() - 8 * 86_400))).toEqual([400, 'LOG_ENTRY_TIME']);
    const bent = await by(issuer);
    bent[bent.length - 1]! ^= 1;
    expect(await send(bent)).toEqual([400, 'COSE_SIGNATURE']);
    expect(await send(new Uint8Array(5000))).toEqual([413, 'MESSAGE_SIZE']);
    expect(await send(new Uint8Array(0))).toEqual([400, 'CBOR_MALFORMED']);
    expect(await send(await by(issuer), 'v1/entries?wait=for-ever')).toEqual([400, 'REQUEST_MALFORMED']);
  });

  it('has nothing but what it serves', async () => {
    const status = async (path: string): Promise<number> => (await fetch(`${site.url}/${path}`)).status;
    expect(await status('tile/0/000')).toBe(404);
    expect(await status('tile/0/..%2f..%2flog.test-key')).toBe(404);
    expect(await status('tile/entries/0')).toBe(404);
    expect(await status(`v1/entries/${'0'.repeat(64)}`)).toBe(404);
    expect(await status('v1/entries/x')).toBe(400);
    expect(await status('v1/consistency?from=0&to=1')).toBe(400);
    expect(await status('v1/consistency?from=1&to=2')).toBe(200);
    expect(await status('health/ready')).toBe(200);
  });
});
