/** A gate in front of enclaves’ training, so that what must happen in the middle of a job does, on a machine of any speed. */
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { preload } from './preload.js';

export interface Gate {
  /** Environment of a host agent whose enclaves the gate holds. */
  readonly environment: Readonly<Record<string, string>>;
  /** No enclave trains on from this step, a multiple of 100 or of a segment; checkpoints before it are told. */
  holdAt(step: number): void;
  open(): void;
}

export function openGate(file: string): Gate {
  return {
    environment: { ...preload('gate-main'), VERITRAIN_TEST_GATE: file },
    holdAt(step) {
      writeFileSync(`${file}.new`, String(step));
      renameSync(`${file}.new`, file);
    },
    open: () => rmSync(file, { force: true }),
  };
}
