/** Which machine and launch made evidence that was found authentic. */
import type { AttestationResult } from '#attestation';
import type { MachineIdentity } from './session-index.js';

/** Software goes on extending RTMR3 while a TD runs. */
const bootRegisters = ['RTMR0', 'RTMR1', 'RTMR2'] as const;

export function machineOf({ instance, devices }: AttestationResult): MachineIdentity {
  const registers = bootRegisters.flatMap((name) => instance?.registers[name] ?? []);
  return {
    reportId: instance?.launch ?? '',
    chip: instance?.chip ?? '',
    measurement: [instance?.measurement ?? '', ...registers].join(' '),
    devices,
  };
}
