import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import koffi from 'koffi';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildSimulatedNvml, compiler, nvmlKnobs, type NvmlKnob } from '#test/simulated-nvml';
import { openNvidiaGpus } from './nvidia.js';

const sample = `${process.env['VERITRAIN_VECTORS'] ?? '../shared/vectors'}/nvidia-gpu/h100-550.90.07-full`;
const real = existsSync(sample);
const reportBytes = real ? new Uint8Array(readFileSync(`${sample}/report.bin`)) : new Uint8Array(300).fill(5);
const pem = real
  ? readFileSync(`${sample}/cert-chain.pem`, 'utf8')
  : '-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n';
const nonce = new Uint8Array(32).fill(9);

describe.skipIf(compiler === undefined)('openNvidiaGpus over a stand-in for NVML', () => {
  let folder: string;
  let library: string;
  let set: (knob: NvmlKnob, value: number) => void;
  let get: (knob: NvmlKnob) => number;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'veritrain-nvml-'));
    library = buildSimulatedNvml(folder, reportBytes, pem);
    const loaded = koffi.load(library);
    const setKnob = loaded.func('fake_set', 'void', ['int', 'uint']);
    const getKnob = loaded.func('fake_get', 'uint', ['int']);
    set = (knob, value) => void setKnob(nvmlKnobs.indexOf(knob), value);
    get = (knob) => getKnob(nvmlKnobs.indexOf(knob)) as number;
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  async function withKnob(knob: NvmlKnob, value: number, use: () => unknown): Promise<void> {
    const before = get(knob);
    set(knob, value);
    try {
      await use();
    } finally {
      set(knob, before);
    }
  }

  it('collects a report for the nonce and the chain of every GPU', async () => {
    const gpus = openNvidiaGpus(library);
    expect(gpus.attesters.length).toBe(2);
    for (const attester of gpus.attesters) {
      const parts = await attester.collect(nonce);
      const expected = reportBytes.slice();
      expected.set(nonce, 4);
      expect(parts.kind).toBe('nvidia-gpu');
      expect(parts.report).toEqual(expected);
      const blocks = [...pem.matchAll(/-----BEGIN CERTIFICATE-----([^-]+)/g)];
      expect(parts.certificates).toEqual(blocks.map((b) => new Uint8Array(Buffer.from(b[1]!, 'base64'))));
    }
    gpus.close();
    expect(get('open')).toBe(0);
  });

  it('says in which mode the GPUs are, and lets them work', async () => {
    const gpus = openNvidiaGpus(library);
    const mode = { ccFeature: 1, devToolsMode: 0, environment: 2, multiGpuMode: 0, gpuCount: 2 };
    expect(gpus.mode()).toEqual({ ...mode, driverVersion: '550.90.07' });
    await withKnob('devTools', 1, () => expect(gpus.mode().devToolsMode).toBe(1));
    await withKnob('cc', 7, () => expect(() => gpus.mode()).toThrow(/NVML_STATE/));
    gpus.setReady();
    expect(get('ready')).toBe(1);
    gpus.close();
  });

  it.each([
    ['count', 0, /NVML_NO_GPU/],
    ['architecture', 8, /NVML_ARCHITECTURE/],
    ['fail', 1009, /NVML_FAILED/],
    ['fail', 2015, /NVML_FAILED/],
  ] as const)('refuses to open with %s = %d, and closes what it opened', async (knob, value, code) => {
    await withKnob(knob, value, () => expect(() => openNvidiaGpus(library)).toThrow(code));
    expect(get('open')).toBe(0);
  });

  it.each([
    ['stale', 1, 'NVML_NONCE', 'collateral'],
    ['reportSize', 8193, 'NVML_REPORT', 'collateral'],
    ['noChain', 5121, 'NVML_CERTIFICATES', 'collateral'],
    ['noChain', 64, 'NVML_CERTIFICATES', 'collateral'],
    ['fail', 3010, 'NVML_BUSY', 'collateral'],
    ['fail', 4999, 'NVML_BUSY', 'collateral'],
    ['fail', 4003, 'NVML_FAILED', 'configuration'],
  ] as const)('names what went wrong with %s = %d: %s', async (knob, value, code, family) => {
    const gpus = openNvidiaGpus(library);
    await withKnob(knob, value, () =>
      expect(gpus.attesters[0]!.collect(nonce)).rejects.toMatchObject({ code, family }),
    );
    gpus.close();
  });

  it('refuses nonces of another length before it asks', async () => {
    const gpus = openNvidiaGpus(library);
    await expect(gpus.attesters[0]!.collect(new Uint8Array(31))).rejects.toMatchObject({ code: 'NVML_NONCE_LENGTH' });
    gpus.close();
  });
});

it('says that NVML is absent', () => {
  expect(() => openNvidiaGpus('/nowhere/libnvidia-ml.so.1')).toThrow(/NVML_ABSENT/);
});
