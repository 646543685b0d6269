/** Which argument system a job is submitted for, and what is refused before anything is uploaded. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bn254 } from '@noble/curves/bn254.js';
import { afterAll, describe, expect, it } from 'vitest';
import { concatBytes, word } from '#attestation/base';
import { type DatasetManifest } from '#attestation/records';
import { groth16KeyText, groth16PlanOf } from '#libs/proof';
import { profileManifest, type Manifest } from '#libs/step';
import { chooseProving, type ProvingRequest } from './backend.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-backend-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const seed = `0x${'5a'.repeat(32)}`;
const manifest = profileManifest('fx1s', { dims: [8, 4, 3], batch: 4, e: 6, steps: 20, seed });
const large = profileManifest('fx1', { dims: [784, 64, 10], batch: 64, e: 8, steps: 20, seed });

/** Points of the right groups, of no ceremony. */
function keyBytes(): Uint8Array {
  const g1 = (k: bigint): Uint8Array => {
    const { x, y } = bn254.G1.Point.BASE.multiply(k).toAffine();
    return concatBytes(word(x), word(y));
  };
  const g2 = (k: bigint): Uint8Array => {
    const { x, y } = bn254.G2.Point.BASE.multiply(k).toAffine();
    return concatBytes(word(x.c1), word(x.c0), word(y.c1), word(y.c0));
  };
  return concatBytes(g1(2n), g2(3n), g2(4n), g2(5n), ...[6n, 7n, 8n, 9n, 10n, 11n, 12n].map(g1));
}

function keyFile(ceremony: 'development' | 'external'): string {
  const path = join(folder, `${ceremony}.json`);
  writeFileSync(path, groth16KeyText({ ceremony, bytes: keyBytes() }));
  return path;
}

const [development, external] = [keyFile('development'), keyFile('external')];
const root = new Uint8Array(32).fill(1);
const groth16 = { root: new Uint8Array(32).fill(2), commitments: [] };
const proving = { profile: 'chain1', commitments: [] };
const plain = { root, scheme: 'state-keccak', proving: null } as unknown as DatasetManifest;
const provable: DatasetManifest = { ...plain, scheme: 'fxt-zk/1', proving };

const zk = { assurance: 'zk' } as const;
const choose = (
  request: ProvingRequest,
  dataset: DatasetManifest = provable,
  developmentKeys = false,
  m: Manifest = manifest,
) => chooseProving(m, dataset, request, { developmentKeys });

describe('the argument system of a job', () => {
  it('is sumcheck unless another is asked for, and none where an enclave’s word is enough', () => {
    expect(choose(zk, { ...provable, groth16 })).toMatchObject({
      scheme: 'fxt-zk/1',
      root,
      proving: { profile: 'chain1' },
    });
    expect(choose({}, plain)).toMatchObject({ scheme: 'state-keccak', root, proving: null });
  });

  it('is groth16 under the plan of the key that is named', () => {
    const chosen = choose({ ...zk, backend: 'groth16', groth16Key: external }, { ...plain, groth16 });
    const planDigest = groth16PlanOf(manifest, { ceremony: 'external', bytes: keyBytes() });
    expect(chosen).toMatchObject({ scheme: 'fxt-groth16/1', root: groth16.root, why: ['it was asked for by name'] });
    expect(chosen.proving).toEqual({ profile: 'groth16', variant: 'joint', planDigest });
    const own = choose({ ...zk, backend: 'groth16', groth16Key: development }, { ...plain, groth16 }, true);
    expect(own.proving!.planDigest).not.toEqual(planDigest);
  });

  it.each<[string, ProvingRequest, DatasetManifest, string, RegExp]>([
    [
      'groth16, whose gas is less',
      { ...zk, groth16Key: external },
      { ...provable, groth16 },
      'fxt-groth16/1',
      /gas to verify/,
    ],
    [
      'groth16 where nothing else can open the data',
      { ...zk, groth16Key: external },
      { ...plain, groth16 },
      'fxt-groth16/1',
      /--provable/,
    ],
    [
      'sumcheck rather than a development key',
      { ...zk, groth16Key: development },
      { ...provable, groth16 },
      'fxt-zk/1',
      /development key/,
    ],
    [
      'sumcheck beside an enclave',
      { assurance: 'tee+zk', groth16Key: external },
      { ...provable, groth16 },
      'fxt-zk/1',
      /assurance zk alone/,
    ],
    [
      'sumcheck where the data has no other commitments',
      { ...zk, groth16Key: external },
      provable,
      'fxt-zk/1',
      /--groth16/,
    ],
    ['sumcheck where no key is named', zk, { ...provable, groth16 }, 'fxt-zk/1', /no key/],
  ])('is by auto %s', (_name, request, dataset, scheme, why) => {
    const chosen = choose({ ...request, backend: 'auto' }, dataset, true);
    expect([chosen.scheme, chosen.why.join('; ')]).toEqual([scheme, expect.stringMatching(why)]);
  });

  const asked = { ...zk, backend: 'groth16', groth16Key: external } as const;
  it.each<[string, string, ProvingRequest, DatasetManifest, Manifest]>([
    ['JOB_SCHEME', 'an enclave besides', { ...asked, assurance: 'tee+zk' }, { ...plain, groth16 }, manifest],
    ['JOB_SCHEME', 'an enclave', { ...asked, assurance: 'tee' }, { ...plain, groth16 }, manifest],
    ['JOB_SCHEME', 'a sample', { ...asked, assurance: 'sampled' }, { ...plain, groth16 }, manifest],
    ['JOB_NOT_PROVABLE', 'data in other commitments', asked, provable, manifest],
    ['JOB_NOT_PROVABLE', 'sumcheck over plain hashes', { ...zk, backend: 'sumcheck' }, { ...plain, groth16 }, manifest],
    [
      'JOB_NOT_PROVABLE',
      'auto, a development key and nothing else',
      { ...zk, backend: 'auto', groth16Key: development },
      { ...plain, groth16 },
      manifest,
    ],
    ['GROTH16_KEY_MISSING', 'no key', { ...asked, groth16Key: undefined }, { ...plain, groth16 }, manifest],
    [
      'GROTH16_DEVELOPMENT',
      'a development key',
      { ...asked, groth16Key: development },
      { ...plain, groth16 },
      manifest,
    ],
    ['GROTH16_SHAPE', 'a model that is too large', asked, { ...plain, groth16 }, large],
  ])('is refused, %s: with %s', (code, _name, request, dataset, m) => {
    expect(() => choose(request, dataset, false, m)).toThrow(expect.objectContaining({ code }));
  });
});
