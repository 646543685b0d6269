/**
 * Evidence of Hopper and Blackwell GPUs through NVML (nvml.h of driver 550 and newer; attestation/EVIDENCE.md §6).
 * Structures are read by offset from buffers of our own, so that no marshalling stands between the library and the
 * bytes.
 */
import { promisify } from 'node:util';
import koffi from 'koffi';
import type { GpuMode } from '#attestation';
import { CollateralError, ConfigurationError, equalBytes } from '#attestation/base';
import type { Attester, EvidenceParts } from './attester.js';

const nonceBytes = 32;
/** nvmlConfComputeGpuAttestationReport_t: three u32, nonce, report, CEC report. */
const report = { size: 4, nonce: 12, bytes: 44, bytesMax: 8192, total: 44 + 8192 + 4096 };
/** nvmlConfComputeGpuCertificate_t: two u32, certificate chain, attestation certificate chain. */
const chain = { size: 4, bytes: 8 + 4096, bytesMax: 5120, total: 8 + 4096 + 5120 };
/** nvmlConfComputeSettings_t: version, environment, ccFeature, devToolsMode, multiGpuMode, u32 each. */
const settings = { version: (1 << 24) | 20, total: 20 };

const driverBytes = 80;

const architectures: ReadonlySet<number> = new Set([9, 10]);
/** NVML_ERROR_TIMEOUT, NVML_ERROR_IN_USE, NVML_ERROR_UNKNOWN: the device may answer the next time. */
const transient: ReadonlySet<number> = new Set([10, 19, 999]);

export interface NvidiaGpus {
  /** One per GPU, in NVML's order; `collect` takes the GPU nonce, 32 bytes. */
  readonly attesters: readonly Attester[];
  /** What NVML says of confidential computing: a claim for the CPU's evidence to cover. */
  mode(): GpuMode;
  /** Lets work reach the GPUs; call it after their evidence was accepted. */
  setReady(): void;
  close(): void;
}

/**
 * @param library path or name of NVML
 * @throws ConfigurationError NVML_ABSENT, NVML_FAILED, NVML_ARCHITECTURE, NVML_NO_GPU, NVML_STATE
 * @throws CollateralError NVML_BUSY. `collect` throws besides NVML_NONCE, NVML_REPORT, NVML_CERTIFICATES
 */
export function openNvidiaGpus(library = 'libnvidia-ml.so.1'): NvidiaGpus {
  const nvml = bind(library);
  check(nvml.init(), 'nvmlInit_v2');
  try {
    const attesters = handles(nvml).map((device) => createAttester(nvml, device));
    return {
      attesters,
      mode: () => readMode(nvml, attesters.length),
      setReady: () => check(nvml.setReady(1), 'nvmlSystemSetConfComputeGpusReadyState'),
      close: () => check(nvml.shutdown(), 'nvmlShutdown'),
    };
  } catch (error) {
    nvml.shutdown();
    throw error;
  }
}

function createAttester(nvml: Nvml, device: bigint): Attester {
  return {
    kind: 'nvidia-gpu',
    async collect(nonce): Promise<EvidenceParts> {
      if (nonce.length !== nonceBytes) {
        throw configuration('NVML_NONCE_LENGTH', `${nonceBytes} bytes`, `${nonce.length}`, 'give the GPU nonce');
      }
      const certificate = Buffer.alloc(chain.total);
      check(await nvml.certificate(device, certificate), 'nvmlDeviceGetConfComputeGpuCertificate');
      const answer = Buffer.alloc(report.total);
      answer.set(nonce, report.nonce);
      check(await nvml.report(device, answer), 'nvmlDeviceGetConfComputeGpuAttestationReport');
      const bytes = sized(answer, report, 'NVML_REPORT');
      if (!equalBytes(bytes.subarray(4, 4 + nonceBytes), nonce)) {
        throw collateral('NVML_NONCE', 'a report for this nonce', 'a report for another nonce');
      }
      return {
        kind: 'nvidia-gpu',
        report: bytes,
        certificates: pemToDer(sized(certificate, chain, 'NVML_CERTIFICATES')),
      };
    },
  };
}

function sized(buffer: Buffer, part: { size: number; bytes: number; bytesMax: number }, code: string): Uint8Array {
  const size = buffer.readUInt32LE(part.size);
  if (size === 0 || size > part.bytesMax) throw collateral(code, `1 to ${part.bytesMax} bytes`, `${size}`);
  return new Uint8Array(buffer.subarray(part.bytes, part.bytes + size));
}

function pemToDer(pem: Uint8Array): Uint8Array[] {
  const blocks = Buffer.from(pem)
    .toString('latin1')
    .matchAll(/-----BEGIN CERTIFICATE-----([^-]+)-----END CERTIFICATE-----/g);
  const certificates = [...blocks].map((block) => new Uint8Array(Buffer.from(block[1]!, 'base64')));
  if (certificates.length === 0) throw collateral('NVML_CERTIFICATES', 'a PEM chain', 'no certificate');
  return certificates;
}

function handles(nvml: Nvml): bigint[] {
  const out = Buffer.alloc(8);
  check(nvml.count(out), 'nvmlDeviceGetCount_v2');
  const count = out.readUInt32LE(0);
  if (count === 0) throw configuration('NVML_NO_GPU', 'at least one GPU', 'none', 'pass a GPU through to the guest');
  return Array.from({ length: count }, (_, index) => {
    check(nvml.handle(index, out), 'nvmlDeviceGetHandleByIndex_v2');
    const device = out.readBigUInt64LE(0);
    check(nvml.architecture(device, out), 'nvmlDeviceGetArchitecture');
    const architecture = out.readUInt32LE(0);
    if (!architectures.has(architecture)) {
      throw configuration('NVML_ARCHITECTURE', 'Hopper (9) or Blackwell (10)', `${architecture}`, 'use another GPU');
    }
    return device;
  });
}

function readMode(nvml: Nvml, gpuCount: number): GpuMode {
  const state = Buffer.alloc(settings.total);
  state.writeUInt32LE(settings.version, 0);
  check(nvml.settings(state), 'nvmlSystemGetConfComputeSettings');
  const driver = Buffer.alloc(driverBytes);
  check(nvml.driver(driver, driver.length), 'nvmlSystemGetDriverVersion');
  return {
    environment: oneOf([0, 1, 2], state.readUInt32LE(4), 'environment'),
    ccFeature: oneOf([0, 1], state.readUInt32LE(8), 'ccFeature'),
    devToolsMode: oneOf([0, 1], state.readUInt32LE(12), 'devToolsMode'),
    multiGpuMode: oneOf([0, 1, 2], state.readUInt32LE(16), 'multiGpuMode'),
    gpuCount,
    driverVersion: driver.toString('latin1').replace(/\0.*$/s, ''),
  };
}

function oneOf<const T extends number>(known: readonly T[], value: number, name: string): T {
  const found = known.find((candidate) => candidate === value);
  if (found !== undefined) return found;
  throw configuration('NVML_STATE', `${name} ${known.join(', ')}`, `${value}`, 'use a driver that this release knows');
}

type Async<Arguments extends unknown[]> = (...args: Arguments) => Promise<number>;

interface Nvml {
  init(): number;
  shutdown(): number;
  count(out: Buffer): number;
  handle(index: number, out: Buffer): number;
  architecture(device: bigint, out: Buffer): number;
  driver(out: Buffer, length: number): number;
  settings(state: Buffer): number;
  setReady(state: number): number;
  /** These two ask the device and take up to seconds: off the event loop. */
  readonly certificate: Async<[bigint, Buffer]>;
  readonly report: Async<[bigint, Buffer]>;
}

function bind(library: string): Nvml {
  try {
    const loaded = koffi.load(library);
    const bound = (name: string, ...types: string[]) => loaded.func(name, 'int', types);
    const asynchronous = (name: string): Async<[bigint, Buffer]> =>
      promisify(bound(name, 'uintptr_t', 'void *').async) as Async<[bigint, Buffer]>;
    return {
      init: bound('nvmlInit_v2'),
      shutdown: bound('nvmlShutdown'),
      count: bound('nvmlDeviceGetCount_v2', 'void *'),
      handle: bound('nvmlDeviceGetHandleByIndex_v2', 'uint', 'void *'),
      architecture: bound('nvmlDeviceGetArchitecture', 'uintptr_t', 'void *'),
      driver: bound('nvmlSystemGetDriverVersion', 'void *', 'uint'),
      settings: bound('nvmlSystemGetConfComputeSettings', 'void *'),
      setReady: bound('nvmlSystemSetConfComputeGpusReadyState', 'uint'),
      certificate: asynchronous('nvmlDeviceGetConfComputeGpuCertificate'),
      report: asynchronous('nvmlDeviceGetConfComputeGpuAttestationReport'),
    };
  } catch (error) {
    const got = error instanceof Error ? error.message.slice(0, 200) : 'another failure';
    throw configuration(
      'NVML_ABSENT',
      `NVML with confidential computing at ${library}`,
      got,
      'install driver 550 or newer',
    );
  }
}

function check(result: number, call: string): void {
  if (result === 0) return;
  if (transient.has(result)) throw collateral('NVML_BUSY', `${call} to succeed`, `NVML error ${result}`);
  throw configuration('NVML_FAILED', `${call} to succeed`, `NVML error ${result}`, 'look at nvidia-smi conf-compute');
}

const rule = 'NVML confidential computing API; attestation/EVIDENCE.md §6';

function configuration(code: string, expected: string, got: string, action: string): ConfigurationError {
  return new ConfigurationError(code, { expected, got, rule, action });
}

function collateral(code: string, expected: string, got: string): CollateralError {
  return new CollateralError(code, { expected, got, rule, action: 'try again' });
}
