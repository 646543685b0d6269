/** A proof that another node brought to the control plane, for whoever has the stake: of its own run, and verified. */
import type { JobSpec, Terms } from '#attestation/records';
import { equalBytes, Rejection } from '#attestation/base';
import { verifyBundledProofUnder } from '#libs/proof';
import type { ProofElsewhere } from '#libs/wire';
import type { ProofFiles } from './step-seal.js';
import type { CipherStore } from './store.js';

const verify = verifyBundledProofUnder({ takesDevelopmentKeys: true });

export interface StakedRun {
  readonly spec: JobSpec;
  readonly terms: Terms;
  /** Weights digests of the run, the start first. */
  readonly borders: readonly Uint8Array[];
}

/** @throws Rejection PROOF_FOREIGN, and PROOF_*, STEP_* of one that does not hold; what the store throws */
export async function fetchProof(
  { index, blob, document }: ProofElsewhere,
  run: StakedRun,
  store: Pick<CipherStore, 'getBlob'>,
): Promise<ProofFiles> {
  const files = { bundle: await store.getBlob(blob), document };
  checkOfRun(run, index, files);
  return files;
}

/** @throws Rejection PROOF_FOREIGN, PROOF_*, STEP_* of what the chain would not take for this segment of the run */
export function checkOfRun(run: StakedRun, index: number, { bundle, document }: ProofFiles): void {
  const { statement } = verify(run, index, { bytes: bundle, document });
  const [before, after] = [run.borders[index], run.borders[index + 1]];
  const isOfRun = after !== undefined && equalBytes(statement.weightsBefore, before!);
  if (isOfRun && equalBytes(statement.weightsAfter, after)) return;
  throw new Rejection('PROOF_FOREIGN', {
    expected: `a proof of segment ${index} of the run of this node`,
    got: 'one of other weights',
    rule: 'libs/proof/SPEC.md, proofs of a job',
  });
}
