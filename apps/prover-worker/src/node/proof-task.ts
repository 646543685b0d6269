/** One segment from claim to verified proof. Whatever fails is told, and the claim given back. */
import { CollateralError, equalBytes, Rejection } from '#attestation/base';
import { encodeTerms, parseStepStatement } from '#attestation/records';
import { failureOf, note, parseProofHeld } from '#libs/node';
import { pattern, type ProofPhase, type ProofTask } from '#libs/wire';
import type { Proved } from '../compute/system.js';
import type { Compute } from './compute.js';
import { checkFloor } from './contract-floor.js';
import { tellProof } from './deliveries.js';
import type { KeptProof } from './kept-jobs.js';
import type { OpenedInput } from './kept-witness.js';
import { entrust, openInput, readOffer, type OfferedJob } from './offered-job.js';
import type { NodeParts } from './parts.js';

/** Share of a segment's time at which a phase begins. */
const phaseStarts: Readonly<Record<ProofPhase, number>> = { load: 0, execute: 0.05, commit: 0.1, prove: 0.45 };

/**
 * Never throws while the node goes on: the end is told to the control plane.
 *
 * @param borders of the run that this node's stake is on: nothing else is proved; absent: of nobody's here
 * @returns whether it is proved
 */
export async function runProof(
  task: ProofTask,
  parts: NodeParts,
  stop: AbortSignal,
  borders: readonly Uint8Array[] | null = null,
): Promise<boolean> {
  const { controlPlane, jobProcess, nodeId, watch } = parts;
  const { jobId, index, fence } = task;
  const ref = { nodeId, jobId, index, fence };
  const report = openReport(ref, parts);
  watch.event('segment-claimed', { job: jobId, segment: index, fence });
  try {
    await work({ task, ref, borders }, parts, (phase) => report.enter(phase));
    watch.event('segment-proved', { job: jobId, segment: index });
    return true;
  } catch (error) {
    if (stop.aborted || report.isLost()) return false;
    watch.failure('proof');
    note(`prove ${index} of ${jobId}`, error);
    const failure = failureOf(error, 'PROVER_INTERNAL');
    await controlPlane.send(pattern.proofFail, { ...ref, ...failure });
    if (failure.code === 'PROVER_ENDED') jobProcess.clear();
    return false;
  } finally {
    report.close();
  }
}

type Ref = Readonly<{ nodeId: string; jobId: string; index: number; fence: number }>;

interface Claimed {
  readonly task: ProofTask;
  readonly ref: Ref;
  readonly borders: readonly Uint8Array[] | null;
}

async function work(
  { task, ref, borders }: Claimed,
  parts: NodeParts,
  enter: (phase: ProofPhase) => void,
): Promise<void> {
  const { settings, store, kept, jobProcess } = parts;
  const { index, job } = task;
  const offer = readOffer(job, settings);
  const { jobId } = offer;
  kept.checkTerms(jobId, encodeTerms(offer.terms));
  enter('load');
  let proved: Omit<KeptProof, 'claim'> | null = kept.proof(jobId, index);
  if (proved === null) {
    const statement = new Uint8Array(Buffer.from(task.statement, 'base64'));
    if (borders !== null) checkOfRun(statement, index, borders);
    // Where its stake lies it proves in any case: the chain may be away for a while.
    if (kept.find(jobId)?.isStaked !== true) await checkFloor(offer, settings);
    const compute = await jobProcess.at(jobId, () => inputFor(offer, parts));
    const checkpoint = task.checkpoint === null ? null : await store.getBlob(task.checkpoint);
    const made = await compute.prove({ index, statement, checkpoint }, enter);
    proved = { ...made, logged: jobProcess.logged() };
    kept.open(jobId, offer.specBytes, encodeTerms(offer.terms));
  }
  const proof = { ...proved, claim: ref };
  kept.keepProof(proof);
  await tellProof(proof, parts);
}

/**
 * Statement and checkpoint that are handed over agree with each other, and may be of another run: its proof would take the place
 * of one that the chain takes.
 */
function checkOfRun(statement: Uint8Array, index: number, borders: readonly Uint8Array[]): void {
  const { weightsBefore, weightsAfter } = parseStepStatement(statement);
  const [before, after] = [borders[index], borders[index + 1]];
  if (before && after && equalBytes(weightsBefore, before) && equalBytes(weightsAfter, after)) return;
  throw new Rejection('WITNESS_FOREIGN', {
    expected: `a statement of segment ${index} of the run of this node`,
    got: 'one of other weights',
    rule: 'prover worker, proofs',
  });
}

/**
 * A segment of this node's own run, from its disk alone. The collection brings it to the chain, and to the control plane where
 * that takes it.
 *
 * @throws CollateralError PROVER_WITNESS where this node does not hold what it takes; what computing process and kept input throw
 */
export async function proveUnasked(jobId: string, index: number, parts: OwnParts): Promise<void> {
  const { kept, witness, jobProcess, nodeId, watch } = parts;
  const opened = await witness.input(jobId);
  if (opened === null) throw noWitness(jobId, index);
  const compute = await jobProcess.at(jobId, () => Promise.resolve(opened));
  const made = await proofOf(compute, jobId, index, parts);
  kept.keepProof({ ...made, claim: { nodeId, jobId, index, fence: 1 }, logged: opened.logged });
  watch.event('segment-proved', { job: jobId, segment: index });
}

type OwnParts = Pick<NodeParts, 'kept' | 'witness' | 'jobProcess' | 'nodeId' | 'watch'>;

/** Borders that are missing, or damaged, are trained again: they are the same. */
async function proofOf(compute: Compute, jobId: string, index: number, { witness }: OwnParts): Promise<Proved> {
  const segment = witness.segment(jobId, index);
  try {
    if (segment !== null) return await compute.prove(segment, () => undefined);
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    note(`witness ${index} of ${jobId}`, error);
  }
  await compute.train(null, (border) => witness.keepBorder(jobId, border));
  const again = witness.segment(jobId, index);
  if (again === null) throw noWitness(jobId, index);
  return compute.prove(again, () => undefined);
}

function noWitness(jobId: string, index: number): CollateralError {
  return new CollateralError('PROVER_WITNESS', {
    expected: `the input of ${jobId}, and borders of its segment ${index}, in the data directory`,
    got: 'a part of them',
    rule: 'prover worker, jobs',
    action: 'restore the data directory: without it this segment is proved only if the control plane hands it out',
  });
}

/** The broker may refuse what it gave before: it is asked again only where what is kept does not open. */
async function inputFor(offer: OfferedJob, { settings, store, witness }: NodeParts): Promise<OpenedInput> {
  const { jobId } = offer;
  const asked = async () => openInput(await entrust(offer, settings), store, settings.hostRoot);
  try {
    return (await witness.input(jobId)) ?? (await asked());
  } catch (error) {
    if (!(error instanceof Rejection) || error.code !== 'KEPT_INPUT') throw error;
    note(`input of ${jobId}`, error);
  }
  const opened = await asked();
  await witness.keepInput(jobId, opened);
  return opened;
}

/** Tells progress at every phase and often enough to keep the claim; ends the work when the claim is lost. */
function openReport(ref: Ref, { controlPlane, jobProcess, leaseSeconds }: NodeParts) {
  const began = performance.now();
  let phase: ProofPhase = 'load';
  let lost = false;
  const tell = async (): Promise<void> => {
    const fraction = phaseStarts[phase];
    const elapsed = (performance.now() - began) / 1000;
    const etaSeconds = fraction < 0.1 ? null : Math.ceil((elapsed * (1 - fraction)) / fraction);
    const progress = { ...ref, phase, percent: Math.round(100 * fraction), etaSeconds };
    const { held } = parseProofHeld(await controlPlane.send(pattern.proofProgress, progress));
    if (held) return;
    lost = true;
    jobProcess.clear();
  };
  const quietly = (): void => void tell().catch((error: unknown) => note('proof progress', error));
  const timer = setInterval(quietly, (1000 * leaseSeconds) / 3);
  return {
    enter(next: ProofPhase): void {
      phase = next;
      quietly();
    },
    isLost: () => lost,
    close: () => clearInterval(timer),
  };
}
