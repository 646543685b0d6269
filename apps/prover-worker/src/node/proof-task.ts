/** One segment from claim to verified proof. Whatever fails is told, and the claim given back. */
import { encodeTerms } from '#attestation/records';
import { failureOf, note, parseProofHeld } from '#libs/node';
import { pattern, type ProofPhase, type ProofTask } from '#libs/wire';
import { tellProof } from './deliveries.js';
import type { KeptProof } from './kept-jobs.js';
import { readOffer } from './offered-job.js';
import type { NodeParts } from './parts.js';

/** Share of a segment's time at which a phase begins. */
const phaseStarts: Readonly<Record<ProofPhase, number>> = { load: 0, execute: 0.05, commit: 0.1, prove: 0.45 };

/** Never throws while the node goes on: the end is told to the control plane. @returns whether it is proved */
export async function runProof(task: ProofTask, parts: NodeParts, stop: AbortSignal): Promise<boolean> {
  const { controlPlane, jobProcess, nodeId, watch } = parts;
  const { jobId, index, fence } = task;
  const ref = { nodeId, jobId, index, fence };
  const report = openReport(ref, parts);
  watch.event('segment-claimed', { job: jobId, segment: index, fence });
  try {
    await work(task, ref, parts, (phase) => report.enter(phase));
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

async function work(task: ProofTask, ref: Ref, parts: NodeParts, enter: (phase: ProofPhase) => void): Promise<void> {
  const { settings, store, kept, jobProcess } = parts;
  const { index, job } = task;
  const offer = readOffer(job, settings);
  const { jobId } = offer;
  enter('load');
  let proved: Omit<KeptProof, 'claim'> | null = kept.proof(jobId, index);
  if (proved === null) {
    const compute = await jobProcess.at(offer, settings, store);
    const checkpoint = task.checkpoint === null ? null : await store.getBlob(task.checkpoint);
    const statement = new Uint8Array(Buffer.from(task.statement, 'base64'));
    const made = await compute.prove({ index, statement, checkpoint }, enter);
    proved = { ...made, logged: jobProcess.logged() };
    kept.open(jobId, offer.specBytes, encodeTerms(offer.terms));
  }
  const proof = { ...proved, claim: ref };
  kept.keepProof(proof);
  await tellProof(proof, parts);
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
