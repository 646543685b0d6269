/**
 * A library with NVML's names, structures and return codes that answers from files: no GPU is behind it, and what it shows is
 * a recording. It says so in its name.
 */
import { execFileSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A test turns its knobs through `fake_set`, or one by the environment: `SIMULATED_NVML=2=0`, the second number its value. */
const source = `
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef struct { unsigned version, environment, ccFeature, devToolsMode, multiGpuMode; } settings_t;
typedef struct { unsigned certChainSize, attestationCertChainSize; unsigned char certChain[0x1000], attestationCertChain[0x1400]; } certificate_t;
typedef struct { unsigned isCecAttestationReportPresent, attestationReportSize, cecAttestationReportSize; unsigned char nonce[0x20], attestationReport[0x2000], cecAttestationReport[0x1000]; } report_t;
enum { COUNT, ARCHITECTURE, CC, DEVTOOLS, ENVIRONMENT, FAIL, REPORT_SIZE, STALE, NO_CHAIN, READY, OPEN, KNOBS };
static unsigned knob[KNOBS] = { 2, 9, 1, 0, 2, 0, 0, 0, 0, 0, 0 };
static int devices[8];
__attribute__((constructor)) static void start(void) {
  const char *turned = getenv("SIMULATED_NVML");
  int which;
  unsigned value;
  if (turned && sscanf(turned, "%d=%u", &which, &value) == 2 && which >= 0 && which < KNOBS) knob[which] = value;
}
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

export const nvmlKnobs = [
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
export type NvmlKnob = (typeof nvmlKnobs)[number];

/** @returns undefined where this machine has none */
export const compiler = ['cc', 'gcc', 'clang'].find((name) => {
  try {
    execFileSync(name, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
});

/**
 * @param folder  of the library, and of `libnvidia-ml.so.1`, the name by which it is looked for
 * @param report  of every GPU, with the nonce of its asker put in
 * @param pem     chain of every GPU
 * @returns path of the library
 */
export function buildSimulatedNvml(folder: string, report: Uint8Array, pem: string): string {
  const library = join(folder, 'libsimulated-nvml.so');
  writeFileSync(join(folder, 'nvml.c'), source);
  writeFileSync(join(folder, 'report.bin'), report);
  writeFileSync(join(folder, 'chain.pem'), pem);
  const paths = [`-DREPORT="${folder}/report.bin"`, `-DCHAIN="${folder}/chain.pem"`];
  execFileSync(compiler!, ['-shared', '-fPIC', '-O1', ...paths, '-o', library, join(folder, 'nvml.c')]);
  symlinkSync('libsimulated-nvml.so', join(folder, 'libnvidia-ml.so.1'));
  return library;
}
