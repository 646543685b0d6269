/** What must hold of work that several nodes claim piece by piece: segments of a round, and proofs. */
import { equalBytes } from '#attestation/base';
import { parseRoundStatement, parseStepStatement, partialsDigest } from '#attestation/records';
import type { Job, JobEvent, Receipt } from '#libs/persistence';
import type { Invariant } from './invariants.js';
import type { Tables } from './tables.js';

export type Demand = (invariant: Invariant, holds: boolean, detail: () => string) => void;

/** A round statement begins with the step statement of its round. */
export const stepStatementBytes = 224;

/** @param borders  of an undisturbed run */
export function checkWeights(borders: readonly Uint8Array[], receipts: readonly Receipt[], demand: Demand): void {
  for (const { statement, stepFrom } of receipts) {
    const said = parseStepStatement(new Uint8Array(statement.subarray(0, stepStatementBytes)));
    const index = Number(stepFrom) / said.stepCount;
    const [before, after] = [borders[index], borders[index + 1]];
    const isRight =
      before !== undefined && equalBytes(before, said.weightsBefore) && equalBytes(after!, said.weightsAfter);
    demand('the weights are those of an undisturbed run', isRight, () => `steps from ${stepFrom}`);
  }
}

interface Told {
  readonly index: number;
  readonly nodeId: string;
  readonly done: boolean;
}

export function checkRounds(job: Job, events: readonly JobEvent[], tables: Tables, demand: Demand): void {
  const rows = tables.partials.get(job.id) ?? [];
  const told = events.flatMap(({ type, data }) => (type === 'segment' ? [data as unknown as Told] : []));
  for (const { index, nodeId, fence, doneAt } of rows) {
    const own = told.filter((one) => one.index === index);
    const claims = own.filter(({ done }) => !done);
    const [first, ...more] = own.filter(({ done }) => done);
    const isOnce = more.length === 0 && (first === undefined) === (doneAt === null);
    const isNewest = first === undefined || (own.at(-1) === first && first.nodeId === nodeId);
    demand(
      'a segment of a round counts once, from its newest claim',
      isOnce && isNewest && claims.length === fence && claims.at(-1)!.nodeId === nodeId,
      () => `segment ${index}: ${JSON.stringify(own)}, stored for ${nodeId} under claim ${fence}`,
    );
  }
  for (const { statement, stepFrom } of tables.receipts.get(job.id) ?? []) {
    const round = parseRoundStatement(new Uint8Array(statement));
    const number = Number(stepFrom) / round.stepCount;
    const partials = rows.filter(({ index }) => Math.floor(index / job.parallel) === number);
    const receipts = partials.sort((a, b) => a.index - b.index).map(({ receipt }) => new Uint8Array(receipt ?? []));
    const joined = (tables.workers.get(job.id) ?? []).map(({ id, nodeId }) => `${id} ${nodeId}`);
    const isOfWorkers = partials.every(({ workerId, nodeId }) => joined.includes(`${workerId} ${nodeId}`));
    const isNamed = receipts.length === job.parallel && equalBytes(partialsDigest(receipts), round.partials);
    demand('a round is over the partials that are stored', isNamed && isOfWorkers, () => `round ${number}`);
  }
}

export function checkProofs(job: Job, events: readonly JobEvent[], tables: Tables, demand: Demand): void {
  const rows = tables.proofs.get(job.id) ?? [];
  const told = events.flatMap(({ type, data }) =>
    type === 'proof' ? [data as unknown as { index: number; blob: string; nodeId: string }] : [],
  );
  for (const { index, nodeId, blob, doneAt } of rows) {
    const own = told.filter((one) => one.index === index);
    const isStored = own[0]?.nodeId === nodeId && own[0].blob === blob;
    const holds = doneAt === null ? own.length === 0 : own.length === 1 && isStored;
    demand(
      'a proof counts once, from its newest claim',
      holds,
      () => `segment ${index}: ${JSON.stringify(own)}, stored ${blob} of ${nodeId}`,
    );
  }
  const segments = (tables.receipts.get(job.id) ?? []).length;
  const proved = rows.filter(({ doneAt }) => doneAt !== null).length;
  const isDelivered = (tables.deliveries.get(job.id) ?? []).length > 0;
  // Of a sample nobody here knows which; the chain paid for all that it drew.
  const needed = job.assurance === 'sampled' ? Math.min(1, segments) : segments;
  const isDue = job.state === 'settled' || (job.assurance === 'zk' && isDelivered);
  demand('nothing is paid unproved', !isDue || proved >= needed, () => `${proved} proofs of ${needed}`);
}
