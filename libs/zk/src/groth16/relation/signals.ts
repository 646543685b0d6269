/** Numbers in public signals. */

/** A 32-byte digest as two 128-bit numbers, the upper half first. */
export function statementLimbs(digest: Uint8Array): readonly [bigint, bigint] {
  const number = (bytes: Uint8Array): bigint => bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  return [number(digest.subarray(0, 16)), number(digest.subarray(16, 32))];
}

/** Σ m_t·256^t. */
export function packSizes(stepSizes: readonly number[]): bigint {
  return stepSizes.reduceRight((sum, size) => (sum << 8n) | BigInt(size), 0n);
}
