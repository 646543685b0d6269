/**
 * The confidential-computing mode of the GPUs, as the guest's NVML saw it. The report does not tell it in every
 * firmware (attestation/EVIDENCE.md §3.2), so measured guest code states it and the CPU's evidence covers the
 * statement.
 */
import type { Field } from '../base/shape.js';
import { oneOf, record, text, uint } from '../base/shape.js';
import { gpuCountMax } from './constants.js';

export interface GpuMode {
  /** nvmlConfComputeSystemState_t.ccFeature: confidential computing is on. */
  readonly ccFeature: 0 | 1;
  /** devToolsMode: debugging tools may read protected memory. */
  readonly devToolsMode: 0 | 1;
  /** 0 unavailable, 1 simulation, 2 production. */
  readonly environment: 0 | 1 | 2;
  /** 0 none, 1 protected PCIe, 2 encrypted NVLink. */
  readonly multiGpuMode: 0 | 1 | 2;
  readonly gpuCount: number;
  readonly driverVersion: string;
}

/** A decoded CBOR map with exactly the fields of `GpuMode`. */
export const gpuModeField: Field<GpuMode> = record({
  ccFeature: oneOf(0, 1),
  devToolsMode: oneOf(0, 1),
  environment: oneOf(0, 1, 2),
  multiGpuMode: oneOf(0, 1, 2),
  gpuCount: uint(gpuCountMax, 1),
  driverVersion: text(32),
});
