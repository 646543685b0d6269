/** Bytes with one to three of them changed, by a seed. */
export function* mutants(bytes: Uint8Array, count: number): Generator<Uint8Array> {
  let state = 0x51ee7;
  const next = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
  for (let round = 0; round < count; round++) {
    const changed = bytes.slice();
    for (let change = 0; change <= next() % 3; change++) changed[next() % bytes.length]! ^= 1 + (next() % 255);
    if (!Buffer.from(changed).equals(bytes)) yield changed;
  }
}

/** @param refusedBy  the code that refuses; null: it affirms @returns how many affirm */
export async function affirmedOf(
  all: Iterable<Uint8Array>,
  refusedBy: (bytes: Uint8Array) => Promise<string | null>,
): Promise<number> {
  let affirmed = 0;
  for (const bytes of all) affirmed += (await refusedBy(bytes)) === null ? 1 : 0;
  return affirmed;
}
