import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import koffi from 'koffi';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openNvidiaGpus } from './nvidia.js';

/** A library with NVML's names, structures and return codes; a test turns its knobs through `fake_set`. */
const source = `
#include <stdio.h>
#include <string.h>
typedef struct { unsigned version, environment, ccFeature, devToolsMode, multiGpuMode; } settings_t;
typedef struct { unsigned certChainSize, attestationCertChainSize; unsigned char certChain[0x1000], attestationCertChain[0x1400]; } certificate_t;
typedef struct { unsigned isCecAttestationReportPresent, attestationReportSize, cecAttestationReportSize; unsigned char nonce[0x20], attestationReport[0x2000], cecAttestationReport[0x1000]; } report_t;
enum { COUNT, ARCHITECTURE, CC, DEVTOOLS, ENVIRONMENT, FAIL, REPORT_SIZE, STALE, NO_CHAIN, READY, OPEN, KNOBS };
static unsigned knob[KNOBS] = { 2, 9, 1, 0, 2, 0, 0, 0, 0, 0, 0 };
static int devices[8];
void fake_set(int which, unsigned value) { knob[which] = value; }
unsigned fake_get(int which) { return knob[which]; }
static int result(int code) { return knob[FAIL] / 1000 == (unsigned)code ? (int)(knob[FAIL] % 1000) : 0; }
static int load(const char *path, unsigned char *into, unsigned max) {
  FILE *file = fopen(path, "rb");
  if (!file) return 0;
  unsigned size = fread(into, 1, max, file);
  fclose(file);
  return size;
}
static int index_of(void *device) { return (int *)device - devices; }
int nvmlInit_v2(void) { if (result(1)) return result(1); knob[OPEN]++; return 0; }
int nvmlShutdown(void) { knob[OPEN]--; return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = knob[COUNT]; return result(2); }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
  if (index >= knob[COUNT]) return 2;
  *device = &devices[index];
  return 0;
}
int nvmlDeviceGetArchitecture(void *device, unsigned *architecture) {
  if (index_of(device) < 0 || index_of(device) >= 8) return 2;
  *architecture = knob[ARCHITECTURE];
  return 0;
}
int nvmlSystemGetDriverVersion(char *version, unsigned length) { snprintf(version, length, "550.90.07"); return 0; }
int nvmlSystemGetConfComputeSettings(settings_t *settings) {
  if (settings->version != (sizeof(settings_t) | 1u << 24)) return 25;
  settings->environment = knob[ENVIRONMENT];
  settings->ccFeature = knob[CC];
  settings->devToolsMode = knob[DEVTOOLS];
  settings->multiGpuMode = 0;
  return 0;
}
int nvmlSystemSetConfComputeGpusReadyState(unsigned state) { knob[READY] = state; return 0; }
int nvmlDeviceGetConfComputeGpuCertificate(void *device, certificate_t *out) {
  if (index_of(device) < 0 || index_of(device) >= 8) return 2;
  out->attestationCertChainSize = knob[NO_CHAIN] ? knob[NO_CHAIN] : load(CHAIN, out->attestationCertChain, sizeof out->attestationCertChain);
  return result(3);
}
int nvmlDeviceGetConfComputeGpuAttestationReport(void *device, report_t *out) {
  if (index_of(device) < 0 || index_of(device) >= 8) return 2;
  unsigned size = load(REPORT, out->attestationReport, sizeof out->attestationReport);
  if (!knob[STALE]) memcpy(out->attestationReport + 4, out->nonce, sizeof out->nonce);
  out->attestationReportSize = knob[REPORT_SIZE] ? knob[REPORT_SIZE] : size;
  return result(4);
}
`;
const knobs = [
  'count',
  'architecture',
  'cc',
  'devTools',
  'environment',
  'fail',
  'reportSize',
  'stale',
  'noChain',
  'ready',
  'open',
] as const;
type Knob = (typeof knobs)[number];

const compiler = ['cc', 'gcc', 'clang'].find((name) => {
  try {
    execFileSync(name, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
});
if (compiler === undefined) console.warn('SKIPPED: no C compiler, the NVML attester is not tested');

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
  let set: (knob: Knob, value: number) => void;
  let get: (knob: Knob) => number;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'veritrain-nvml-'));
    library = join(folder, 'libfake-nvml.so');
    writeFileSync(join(folder, 'nvml.c'), source);
    writeFileSync(join(folder, 'report.bin'), reportBytes);
    writeFileSync(join(folder, 'chain.pem'), pem);
    const paths = [`-DREPORT="${folder}/report.bin"`, `-DCHAIN="${folder}/chain.pem"`];
    execFileSync(compiler!, ['-shared', '-fPIC', '-O1', ...paths, '-o', library, join(folder, 'nvml.c')]);
    const loaded = koffi.load(library);
    const setKnob = loaded.func('fake_set', 'void', ['int', 'uint']);
    const getKnob = loaded.func('fake_get', 'uint', ['int']);
    set = (knob, value) => void setKnob(knobs.indexOf(knob), value);
    get = (knob) => getKnob(knobs.indexOf(knob)) as number;
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  async function withKnob(knob: Knob, value: number, use: () => unknown): Promise<void> {
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
