/** Whether the service can decide, found out once for all who ask within a moment: anybody may ask, and it reads much. */

const keptMs = 2000;

/**
 * @param check  throws where it is not ready
 * @param nowMs  of a clock that goes forward
 */
export function sharedReadiness(
  check: () => Promise<void>,
  nowMs = (): number => performance.now(),
): () => Promise<void> {
  let current: Promise<void> | undefined;
  let foundAtMs: number | undefined;
  return () => {
    const isKept = foundAtMs === undefined || nowMs() - foundAtMs < keptMs;
    if (current !== undefined && isKept) return current;
    foundAtMs = undefined;
    const found = (): void => void (foundAtMs = nowMs());
    current = check();
    current.then(found, found);
    return current;
  };
}
