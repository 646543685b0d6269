/** The step that two provers are compared on. */
import { keccak, utf8 } from '#attestation/base';

export interface PeerShape {
  readonly inputs: number;
  readonly hidden: number;
  readonly outputs: number;
  readonly batch: number;
}

export const peerRuns = 3;

export function nameOf({ inputs, hidden, outputs, batch }: PeerShape): string {
  return `${inputs}-${hidden}-${outputs} b${batch}`;
}

/** Data uniform in ±2^12, weights in ±2000, from a fixed stream. */
export function peerInputs({ inputs, hidden, outputs, batch }: PeerShape): Record<'X' | 'Y' | 'W1' | 'W2', number[]> {
  const draw = (name: string, count: number, most: number): number[] =>
    Array.from({ length: count }, (_, i) => {
      const word = new DataView(keccak(utf8(`peer ${name} ${i}`)).buffer).getUint32(0);
      return (word % (2 * most + 1)) - most;
    });
  return {
    X: draw('X', batch * inputs, 4096),
    Y: draw('Y', batch * outputs, 4096),
    W1: draw('W1', hidden * inputs, 2000),
    W2: draw('W2', outputs * hidden, 2000),
  };
}
