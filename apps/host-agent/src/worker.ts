/** A node without a lease of its own lends a hand: it joins a data-parallel job of its provider and trains segments of it. */
import { fromBase64 } from '#attestation/base';
import { encodeTerms, parseJobSpec, parseTermsJson } from '#attestation/records';
import { brokerPatience, createBrokerClient, parseSegmentAcquired } from '#libs/node';
import type { EnclaveClient } from '#libs/enclave-channel';
import { traced } from '#libs/telemetry';
import { pattern, type NodeRegistered, type RenewedSession, type SegmentTask } from '#libs/wire';
import type { RunnerParts } from './job-runner.js';
import { askForKey, giveJob, judgedOf, releasedOf, sendShards, sendStart } from './job-session.js';
import { startRenewals } from './renewal.js';
import { giveBack, workerOf, joinJob, refOf, workSegment } from './segments.js';
import { checkTerms } from './terms.js';

const waitMs = 5000;

/** Returns at once where no job has a segment for this node, and else when the job has no more for it. */
export async function workAside(
  node: NodeRegistered,
  enclave: EnclaveClient,
  parts: RunnerParts,
  stop: AbortSignal,
): Promise<void> {
  const { nodeId } = node;
  const answer = await parts.controlPlane.send(pattern.segmentAcquire, { nodeId, waitMs: 0 });
  const { task } = parseSegmentAcquired(answer);
  if (task === null) return;
  await traced('segments', task.jobId, () => lendHand(task, node, enclave, parts, stop));
}

async function lendHand(
  first: SegmentTask,
  node: NodeRegistered,
  enclave: EnclaveClient,
  parts: RunnerParts,
  stop: AbortSignal,
): Promise<void> {
  const { controlPlane } = parts;
  const { jobId } = first;
  const ref = refOf(first, node);
  let joined;
  try {
    joined = await join(first, node, enclave, parts);
  } catch (error) {
    await giveBack(controlPlane, ref, error);
    throw error;
  }
  const { workerId, renewals } = joined;
  const worker = workerOf(node, workerId, enclave, parts);
  try {
    let task: SegmentTask | null = first;
    while (!stop.aborted) {
      if (task !== null && (await workSegment(task, worker)) !== null) return;
      const question = { nodeId: node.nodeId, waitMs, jobId };
      const answer = parseSegmentAcquired(await controlPlane.send(pattern.segmentAcquire, question));
      if (answer.over) return;
      ({ task } = answer);
    }
  } catch (error) {
    throw renewals.refusal() ?? error;
  } finally {
    renewals.stop();
  }
}

/** Nothing is signed on chain by a worker, but its enclave is attested for the account that the terms pay. */
async function join({ job, jobId }: SegmentTask, node: NodeRegistered, enclave: EnclaveClient, parts: RunnerParts) {
  const { controlPlane, provider, store } = parts;
  const terms = parseTermsJson(job.terms);
  const spec = fromBase64(job.spec);
  checkTerms(job, terms, parseJobSpec(spec), provider.own, await provider.publishEstimate(spec));
  const { brokers, attestors, hostRoot } = parts;
  const broker = createBrokerClient(job.brokerUrl, brokers);
  // A segment is somebody's for a lease's time; another node may have it then.
  const patience = brokerPatience({ withinMs: 1000 * node.leaseSeconds });
  const answer = await askForKey(job, terms, enclave, { brokers, attestors, patience });
  const judged = judgedOf(answer);
  const workerId = await joinJob(controlPlane, { node, jobId, ...judged, release: releasedOf(answer) });
  const dataset = await giveJob(job, terms, answer, enclave, hostRoot);
  const worker = { nodeId: node.nodeId, jobId, workerId };
  const tell = (renewed: RenewedSession) => controlPlane.send(pattern.segmentRenewed, { ...worker, ...renewed });
  const session = { jobId, spec, terms: encodeTerms(terms), enclave, broker, tell };
  const renewals = startRenewals(session, answer.release);
  try {
    await sendStart(job, enclave, store);
    await sendShards(dataset, enclave, store);
  } catch (error) {
    renewals.stop();
    throw error;
  }
  return { workerId, renewals };
}
