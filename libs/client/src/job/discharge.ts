/** Step proofs from files as seals of the segments that an escrow wants proved. */
import { equalBytes, fromHex, Rejection, toHex } from '#attestation/base';
import { escrowIdOf, type StepSpec, type Terms } from '#attestation/records';
import {
  parseGroth16Bundle,
  parseProofBundle,
  planOf,
  segmentStatement,
  verifyGroth16Bundle,
  verifyProofBundle,
  type Groth16Statement,
  type ProofEscrow,
  type ProofStatement,
} from '#libs/proof';
import { groth16SealOf, stepSealOf, type SettlementClient, type StepSeal, type TxReceipt } from '#libs/settlement';
import { manifestDigest } from '#libs/step';
import { circuitShape, groth16PlanDigest } from '#libs/zk/verifier';

interface Discharged {
  readonly segment: number;
  readonly receipt: TxReceipt;
}

/**
 * Verified here first: a proof that the chain would refuse costs nothing.
 *
 * @throws Rejection PROOF_ESCROW, SEAL_SPEC, those of `verifyProofBundle` and of the contract
 */
export async function dischargeSegments(
  escrow: SettlementClient,
  terms: Terms,
  bundle: Uint8Array,
  statement: ProofStatement,
): Promise<Discharged[]> {
  checkEscrow(terms, statement);
  verifyProofBundle(bundle, statement);
  const plan = planOf(statement);
  const spec = stepSpecOfStatement(statement);
  const seals = parseProofBundle(bundle).map((proof, i) => {
    const proved = segmentStatement(statement, plan, i);
    return { segment: proved.index, seal: stepSealOf(escrow.domain, terms, spec, { statement: proved, plan, proof }) };
  });
  return dischargeAll(escrow, terms, seals);
}

/**
 * The same for Groth16 proofs, under a key that the terms name.
 *
 * @throws Rejection PROOF_ESCROW, SEAL_SPEC, those of `verifyGroth16Bundle` and of the contract
 */
export async function dischargeGroth16Segments(
  escrow: SettlementClient,
  terms: Terms,
  bundle: Uint8Array,
  statement: Groth16Statement,
): Promise<Discharged[]> {
  checkEscrow(terms, statement);
  // Which keys are good enough the terms have said: the plan that they name is of one key.
  verifyGroth16Bundle(bundle, statement, { takesDevelopmentKeys: true });
  const { key, proofs } = parseGroth16Bundle(bundle);
  const plan = groth16PlanDigest(circuitShape(statement.manifest), statement.ceremony, key);
  const spec = stepSpecOfStatement(statement);
  const seals = proofs.map((proof, i) => {
    const proved = segmentOf(statement, i);
    return { segment: proved.index, seal: groth16SealOf(escrow.domain, terms, spec, plan, proved, proof) };
  });
  return dischargeAll(escrow, terms, seals);
}

type AnyStatement<C> = Pick<ProofStatement, 'manifest' | 'jobId' | 'datasetRoot' | 'recordCount' | 'firstStep'> & {
  readonly escrow?: ProofEscrow | undefined;
  readonly borders: readonly C[];
  readonly segments: readonly { readonly data: C; readonly path: readonly Uint8Array[] }[];
};

function checkEscrow(terms: Terms, { escrow }: { readonly escrow?: ProofEscrow | undefined }): void {
  const job = escrowIdOf(terms);
  if (escrow !== undefined && equalBytes(escrow.job, job)) return;
  throw new Rejection('PROOF_ESCROW', {
    expected: `proofs for the escrow ${toHex(job)}`,
    got: escrow === undefined ? 'proofs for no escrow' : `proofs for ${toHex(escrow.job)}`,
    rule: 'libs/proof/SPEC.md §2',
    action: 'prove the job under an order that names this escrow',
  });
}

/** A Groth16 proof covers one superblock. */
function segmentOf<C>(statement: AnyStatement<C>, i: number) {
  const { firstStep, manifest } = statement;
  const { data, path } = statement.segments[i]!;
  const [before, after] = [statement.borders[i]!, statement.borders[i + 1]!];
  return { index: firstStep / manifest.superblock + i, before, after, data, dataPath: path };
}

async function dischargeAll(
  escrow: SettlementClient,
  terms: Terms,
  seals: readonly { readonly segment: number; readonly seal: StepSeal }[],
): Promise<Discharged[]> {
  const borders = await escrow.duties.bordersOf(terms);
  const discharged: Discharged[] = [];
  for (const { segment, seal } of seals) {
    discharged.push({ segment, receipt: await escrow.duties.discharge(terms, segment, borders, seal) });
  }
  return discharged;
}

function stepSpecOfStatement({ jobId, manifest, datasetRoot, recordCount }: AnyStatement<unknown>): StepSpec {
  return {
    jobSpec: jobId,
    manifestDigest: manifestDigest(manifest),
    datasetRoot,
    seed: fromHex(manifest.seed),
    steps: manifest.steps,
    recordCount,
    schedule: manifest.optimizer.m.map(([from, m]) => from * 256 + m),
  };
}
