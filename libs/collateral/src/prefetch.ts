import { CollateralError } from '#attestation/base';

interface PrefetchReport {
  readonly fetched: readonly string[];
  readonly failed: readonly { readonly name: string; readonly error: CollateralError }[];
}

/**
 * Gets collateral before it is needed, one item after the other so that rate limits are met gently. What fails is
 * reported, the rest goes on.
 *
 * @param tasks  name to a call of one of the clients
 */
export async function prefetch(tasks: ReadonlyMap<string, () => Promise<unknown>>): Promise<PrefetchReport> {
  const fetched: string[] = [];
  const failed: { name: string; error: CollateralError }[] = [];
  for (const [name, task] of tasks) {
    try {
      await task();
      fetched.push(name);
    } catch (error) {
      if (!(error instanceof CollateralError)) throw error;
      failed.push({ name, error });
    }
  }
  return { fetched, failed };
}
