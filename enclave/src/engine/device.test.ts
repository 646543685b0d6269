/**
 * Devices besides the processor: the self-test has one more graph there, whose digests the reference gives; a device that
 * rounds otherwise, or has no session, does not start.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { toHex } from '#attestation/base';
import { chooseProvider, float64Tensors, InferenceSession, sessionOptions, Tensor } from '#libs/onnx';
import { initialWeights, layerScales, stateDigest, type LayerScale, stepReference, type NetManifest } from '#libs/step';
import { NetEngine } from './net-engine.js';
import { selfTest, selfTestOfDevice, wideDigests, wideExamples, wideManifest, wideSelfTest } from './self-test.js';

afterEach(() => {
  chooseProvider('cpu');
  vi.restoreAllMocks();
});

describe('the wide graph of the self-test', () => {
  it('ends in the digests that the reference gives', () => {
    let weights = initialWeights(wideManifest);
    const digests = [0, 1].map((step) => {
      ({ weights } = stepReference(wideManifest, weights, wideExamples(), step));
      return [step + 1, toHex(stateDigest(wideManifest, weights))];
    });
    expect(Object.fromEntries(digests)).toEqual(wideDigests);
  });

  it('passes here', () => wideSelfTest());

  it('tells a device that sums in float32: some activation rounds to another whole number there', () => {
    const [{ inputs, outputs, forwardShift }] = layerScales(wideManifest) as [LayerScale];
    const weights = float64Tensors(initialWeights(wideManifest))['W1']!.data as Float64Array;
    const { features, count } = wideExamples();
    const rounded = (sum: number): number => Math.floor(sum / 2 ** forwardShift + 0.5);
    let others = 0;
    for (let record = 0; record < count; record++) {
      for (let out = 0; out < outputs; out++) {
        let [exact, single] = [0, 0];
        for (let at = 0; at < inputs; at++) {
          const product = features[record * inputs + at]! * weights[at * outputs + out]!;
          exact += product;
          single = Math.fround(single + Math.fround(product));
        }
        if (rounded(exact) !== rounded(single)) others++;
      }
    }
    expect(others).toBeGreaterThan(0);
  });
});

/** Sessions of a device that is not there: they run on the processor, and `change` is what the device does otherwise. */
function plantDevice(change: (value: number, size: number) => number): void {
  const create = InferenceSession.create.bind(InferenceSession) as (
    model: Uint8Array,
    options: InferenceSession.SessionOptions,
  ) => Promise<InferenceSession>;
  vi.spyOn(InferenceSession, 'create').mockImplementation((async (
    model: Uint8Array,
    options: InferenceSession.SessionOptions,
  ) => {
    const session = await create(model, { ...options, executionProviders: ['cpu'], extra: {} });
    const run = session.run.bind(session);
    session.run = async (feeds: InferenceSession.FeedsType) => {
      const outputs = Object.entries(await run(feeds)).map(([name, tensor]) => {
        if (!(tensor.data instanceof Float64Array)) return [name, tensor] as const;
        const { length } = tensor.data;
        const data = tensor.data.map((value) => change(value, length));
        return [name, new Tensor('float64', data, tensor.dims)] as const;
      });
      return Object.fromEntries(outputs);
    };
    return session;
  }) as never);
}

/** Of float32 the upper 19 bits: sign, exponent and 10 bits behind the point. */
function tf32(value: number): number {
  const word = new DataView(new ArrayBuffer(4));
  word.setFloat32(0, value);
  word.setUint32(0, (word.getUint32(0) + 0x1000) & 0xffffe000);
  return word.getFloat32(0);
}

describe('a device', () => {
  it('that computes exactly passes, and takes no graph that would run elsewhere', async () => {
    chooseProvider('cuda');
    expect(sessionOptions(1)).toMatchObject({
      executionProviders: ['cuda'],
      extra: { session: { disable_cpu_ep_fallback: '1' } },
    });
    plantDevice((value) => value);
    await selfTestOfDevice();
  });

  it.each<[string, (value: number, size: number) => number]>([
    ['to 11 bits, as TF32 does', tf32],
    ['up by one where another rounds down', (value) => (value === 0 ? value : value + 1)],
    ['to even at halves of a large number', (value) => (Math.abs(value) > 2 ** 20 ? 2 * Math.round(value / 2) : value)],
  ])('ENGINE_SELF_TEST: that rounds %s does not start', async (_, change) => {
    chooseProvider('cuda');
    plantDevice(change);
    await expect(selfTestOfDevice()).rejects.toMatchObject({ code: 'ENGINE_SELF_TEST' });
  });

  it('ENGINE_SELF_TEST: that is exact in small graphs alone is caught by the wide one', async () => {
    chooseProvider('cuda');
    plantDevice((value, size) => (size > 10_000 && value > 2 ** 16 ? value + 1 : value));
    await selfTest();
    await expect(selfTestOfDevice()).rejects.toMatchObject({ code: 'ENGINE_SELF_TEST' });
  });

  it('ENGINE_PROVIDER: that is not there does not start, and no name but these is one', async () => {
    chooseProvider('cuda');
    await expect(selfTestOfDevice()).rejects.toMatchObject({ code: 'ENGINE_PROVIDER' });
    expect(() => chooseProvider('CUDA')).toThrow('ENGINE_PROVIDER');
    expect(() => chooseProvider('')).toThrow('ENGINE_PROVIDER');
  });

  it('ENGINE_PROVIDER: takes no net of fxt/2, whose graphs have no self-test there', async () => {
    chooseProvider('cuda');
    await expect(NetEngine.open({} as NetManifest, [])).rejects.toMatchObject({ code: 'ENGINE_PROVIDER' });
  });
});
