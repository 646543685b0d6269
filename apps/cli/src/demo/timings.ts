/** What attestation and commitment cost beside training: the breakdown that the summary shows. */
export interface EnclaveTimings {
  readonly trainSeconds: number;
  /** Seal, attest, release, decrypt, check, deliver: paid once per job. */
  readonly fixedSeconds: number;
  /** Commitments, receipts and checkpoints beside training, as a share of training time. */
  readonly perTraining: number;
  readonly parts: Readonly<Record<string, number>>;
}

const fixed = ['seal', 'attest', 'shards', 'check', 'deliver'] as const;
const perSegment = ['commit', 'sign'] as const;

/**
 * @param sealSeconds  the data owner's sealing of the data set
 * @param timings      seconds by phase, as the node reported them at delivery
 */
export function enclaveTimings(sealSeconds: number, timings: Readonly<Record<string, number>>): EnclaveTimings {
  const { train = 0, seal: deliver = 0, ...rest } = timings;
  const parts: Record<string, number> = { ...rest, seal: sealSeconds, deliver };
  const sum = (names: readonly string[]): number => names.reduce((total, name) => total + (parts[name] ?? 0), 0);
  return {
    trainSeconds: train,
    fixedSeconds: sum(fixed),
    perTraining: train === 0 ? 0 : sum(perSegment) / train,
    parts,
  };
}
