/** keccak-256 of the compiled kernels, for whoever verifies many proofs. */
import type { Engine } from '../kernels/index.js';
import type { Keccak } from '../transcript/keccak.js';

/** Longest message hashed by the kernel: leaves of the widest plans are shorter. */
const messageBytesMax = 64 * 1024;

/** @returns a hash over memory of the engine that it never gives back; longer messages than 64 KiB throw */
export function kernelKeccak({ memory, kernels }: Engine): Keccak {
  const at = memory.allocate(messageBytesMax);
  const out = memory.allocate(32);
  const message = memory.bytes(at, messageBytesMax);
  const digest = memory.bytes(out, 32);
  return (bytes) => {
    message.set(bytes);
    kernels.keccak256(at, bytes.length, out);
    return Uint8Array.from(digest);
  };
}
