/** Which code a policy names for each kind of CPU evidence that it accepts (attestation/SPEC.md §6.1). */
import type { QuotePolicy } from '../intel/policy.js';
import type { NitroPolicy } from '../nitro/policy.js';
import type { SnpPolicy } from '../snp/appraise.js';

export const cpuKinds = ['snp', 'simulated-snp', 'tdx', 'sgx', 'nitro'] as const;
export type CpuKind = (typeof cpuKinds)[number];

/** The parts of a policy that can name code. */
interface Pinned {
  readonly cpuKinds?: readonly CpuKind[];
  readonly snp: SnpPolicy;
  readonly quote: QuotePolicy;
  readonly nitro: NitroPolicy;
}

/** What is missing in words, nothing where the policy pins the code of every kind that it accepts. */
export function missingPins(policy: Pinned): readonly string[] {
  const { cpuKinds: kinds } = policy;
  if (kinds === undefined || kinds.length === 0) return ['cpuKinds: the kinds of CPU evidence that are accepted'];
  return kinds.flatMap((kind) => {
    const missing = missingPin(kind, policy);
    return missing === undefined ? [] : [`${kind}: ${missing}`];
  });
}

/** @returns undefined where the code of this kind is pinned */
export function missingPin(kind: CpuKind, { snp, quote, nitro }: Pinned): string | undefined {
  switch (kind) {
    case 'snp':
      if (snp.allowDebug) return 'snp.allowDebug: false, since the host of a debug guest changes what was measured';
      if (names(snp.measurements) || (names(snp.idKeyDigests) && snp.guestSvnMinimum !== undefined)) return undefined;
      return 'snp.measurements, or snp.idKeyDigests with snp.guestSvnMinimum';
    case 'simulated-snp':
      return 'simulated hardware has no place in a production policy';
    case 'tdx': {
      const missing = [
        ...(names(quote.measurements, 48) ? [] : ['quote.measurements (MRTD)']),
        ...[1, 2].filter((index) => !names(quote.rtmrs?.[index])).map((index) => `quote.rtmrs.${index}`),
      ];
      return missing.length === 0 ? undefined : missing.join(', ');
    }
    case 'sgx': {
      const bySigner = names(quote.mrSigners) && (quote.isvProdIds?.length ?? 0) > 0;
      if (names(quote.measurements, 32) || (bySigner && quote.isvSvnMinimum !== undefined)) return undefined;
      return 'quote.measurements (MRENCLAVE), or quote.mrSigners with quote.isvProdIds and quote.isvSvnMinimum';
    }
    case 'nitro': {
      const missing = [0, 1, 2].filter((index) => !names(nitro.pcrs[index])).map((index) => `nitro.pcrs.${index}`);
      return missing.length === 0 ? undefined : missing.join(', ');
    }
  }
}

/** A register of zeros has measured nothing: a list that admits it names no code. */
function names(list: readonly string[] | undefined, bytes?: number): boolean {
  const own = (list ?? []).filter((value) => bytes === undefined || value.length === 2 * bytes);
  return own.length > 0 && own.every((value) => !/^0+$/.test(value));
}
