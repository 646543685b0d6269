import { keccak_256 } from '@noble/hashes/sha3.js';
import { describe, expect, it } from 'vitest';
import { to0x, toHex, utf8 } from '#attestation/base';
import {
  GuardViolation,
  initialWeights,
  profileManifest,
  stateDigest,
  stepReference,
  wordStream,
  type Manifest,
  type Matrix,
  type Weights,
} from './index.js';

const seed = to0x(keccak_256(utf8('fxt-vector-1')));
const tiny = { dims: [3, 4, 2], batch: 2, e: 4, steps: 3, seed };
const batch = {
  count: 2,
  features: Uint8Array.of(0, 128, 255, 200, 10, 77),
  labels: Uint8Array.of(1, 0),
};

function run(m: Manifest, steps: number): Weights {
  let weights = initialWeights(m);
  for (let step = 0; step < steps; step++) weights = stepReference(m, weights, batch, step).weights;
  return weights;
}

const hex = (m: Manifest, weights: Weights) => toHex(stateDigest(m, weights));
const rows = (x: Matrix) =>
  Array.from({ length: x.rows }, (_, r) => x.data.slice(r * x.columns, (r + 1) * x.columns).map(Number));
const tensor = (weights: Weights, name: string) => Array.from(weights.find((t) => t.name === name)!.values, Number);

describe('libs/step/SPEC.md §14.1, the tiny net', () => {
  const m = profileManifest('fx1', tiny);

  it('draws the first words and the start weights', () => {
    expect(seed).toBe('0x2286f594e2d9d4f86cd48a448da1879709cdd33fcbcdefef2e14a88b9367a120');
    const word = wordStream('fxt/init/v1', seed);
    expect([0, 1, 2, 3, 4].map(word)).toEqual([
      6567423407795523864n,
      11124934229876595813n,
      13458344644018893089n,
      10057071267522148503n,
      15086175204156155985n,
    ]);
    const start = initialWeights(m);
    expect(tensor(start, 'W1')).toEqual([
      -1708067, 1222913, 2723553, 536160, 3770427, -1884714, 4535066, 2592624, -19216, 1807259, 5448563, 444281,
    ]);
    expect(tensor(start, 'W2')).toEqual([463483, -143578, -815429, 335869, -532846, -286830, 680947, 1199339]);
    expect(hex(m, start)).toBe('dc00e5a4811011ee2bda3293f196b764bedec6c1e9ce41878dec909576d3169a');
  });

  it('gives every number of step 0', () => {
    const { layers, loss: softmax, weights } = stepReference(m, initialWeights(m), batch, 0);
    const [one, two] = [layers[0]!, layers[1]!];
    expect(rows(one.Z)).toEqual([
      [477714576, 219607653, 1969872013, 445147527],
      [-305388762, 364894403, 1009600611, 167367877],
    ]);
    expect(rows(one.Y)).toEqual([
      [28, 13, 117, 27],
      [-18, 22, 60, 10],
    ]);
    expect(rows(two.A)).toEqual([
      [28, 13, 117, 27],
      [0, 22, 60, 10],
    ]);
    expect(rows(one.M!)).toEqual([
      [1, 1, 1, 1],
      [0, 1, 1, 1],
    ]);
    expect(rows(two.Z)).toEqual([
      [-41580466, -830844],
      [-43100728, 2172708],
    ]);
    expect(rows(two.Y)).toEqual([
      [-40, -1],
      [-41, 2],
    ]);
    expect(rows(softmax.epsilon!)).toEqual([
      [557, 1024],
      [523, 1024],
    ]);
    expect(rows(softmax.S!)).toEqual([[1581], [1547]]);
    expect(rows(softmax.iota!)).toEqual([[42447], [43380]]);
    expect(rows(softmax.p!)).toEqual([
      [361, 663],
      [346, 678],
    ]);
    expect(rows(two.G)).toEqual([
      [361, -361],
      [-678, 678],
    ]);
    expect(rows(two.H!)).toEqual([
      [219149021, -415618578, -88811776, -187139512],
      [-411587358, 780580044, 166798848, 351469776],
    ]);
    expect(rows(one.G)).toEqual([
      [209, -396, -85, -178],
      [0, 744, 159, 335],
    ]);
    expect(rows(one.D)).toEqual([
      [0, 148800, 31800, 67000],
      [26752, -43248, -9290, -19434],
      [53295, -43692, -9432, -19595],
    ]);
    expect(rows(one.delta)).toEqual([[209, 348, 74, 157]]);
    expect(rows(two.D)).toEqual([
      [10108, -10108],
      [-10223, 10223],
      [1557, -1557],
      [2967, -2967],
    ]);
    expect(rows(two.delta)).toEqual([[-317, 317]]);
    expect(tensor(weights, 'W1')).toEqual([
      -1708067, 1074113, 2691753, 469160, 3743675, -1841466, 4544356, 2612058, -72511, 1850951, 5457995, 463876,
    ]);
    expect(tensor(weights, 'b1')).toEqual([-209, -348, -74, -157]);
    expect(tensor(weights, 'b2')).toEqual([317, -317]);
  });

  it.each([
    [1, '138641c6a1f69e44e7b1ae0e0347b634b632b4c8ab8ece457d2c547065e99c6b'],
    [2, 'b9174bfe451a8636debb46978667d00c72689d4e80361fccd72899f29fd680c3'],
    [3, 'dad5a83928a3c11328ff249f98c86e4d33b4dae37ae6412d461c63fb4b05c447'],
  ])('reaches the state digest after %i steps', (steps, digest) => {
    expect(hex(m, run(m, steps))).toBe(digest);
  });

  it('follows a schedule', () => {
    const scheduled = profileManifest('fx1', {
      ...tiny,
      m: [
        [0, 4],
        [1, 2],
        [2, 1],
      ],
    });
    expect(hex(scheduled, run(scheduled, 3))).toBe('b6492036c3b04512161d6c0cbe27890f696d746fe286fdc40ec4cbfa6d730400');
  });

  it('knows the compact profile', () => {
    const compact = profileManifest('fx1s', tiny);
    expect(hex(compact, run(compact, 0))).toBe('3f2b0b1b5c1c523737e3e6c11d99ce8cc998795d64ddfad74bf8df235638e6fe');
    expect(hex(compact, run(compact, 3))).toBe('caa003ca43ec9db4b254fe5cff427cb5e78fb15d8fcd727eb89408cd6c0563ef');
  });

  it('names step and tensor when a value leaves its range', () => {
    const hot = profileManifest('fx1', { ...tiny, steps: 50, e: 4, m: [[0, 255]], wint: 0 });
    const weights = initialWeights(hot).map((t) => ({ ...t, values: t.values.map((v) => v / 4n) }));
    let violation: unknown;
    let current: Weights = weights;
    try {
      for (let step = 0; step < 50; step++) current = stepReference(hot, current, batch, step).weights;
    } catch (error) {
      violation = error;
    }
    expect(violation).toBeInstanceOf(GuardViolation);
    expect(violation).toMatchObject({ code: 'GUARD_VIOLATION', tensor: expect.stringMatching(/^[YGWb][12]$/) });
  });

  it('refuses weights of another net and a batch of another size', () => {
    expect(() => stepReference(m, initialWeights(m).slice(1), batch, 0)).toThrow('WEIGHTS_SHAPE');
    expect(() => stepReference(m, initialWeights(m), { ...batch, count: 3 }, 0)).toThrow('BATCH_SIZE');
  });
});
