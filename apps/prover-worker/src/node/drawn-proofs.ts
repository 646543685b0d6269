/**
 * Proofs that this node's own stake is for: segments drawn of a sampled job that it trained. The chain says which are due.
 * Others may prove them, and the control plane may hand them out; what neither brings within the patience is proved from
 * what lies on this node's disk.
 */
import { fromHex } from '#attestation/base';
import { decodeTerms, parseJobSpec, type Terms } from '#attestation/records';
import { note } from '#libs/node';
import type { ProofTask } from '#libs/wire';
import { isSampled, type Due } from './draw.js';
import type { KeptJob } from './kept-jobs.js';
import { openOwnProofs, type OwnProofs } from './own-proofs.js';
import type { NodeParts } from './parts.js';
import { proveUnasked, type runProof } from './proof-task.js';

/** A job of which nothing was to be proved is asked about again after this. */
const askAgainMs = 1000;
/** The chain is asked one question for each segment: every one of them puts the next time off by this. */
const perSegmentMs = 60;
/** A job whose proof failed is asked about again after this. */
const tryAgainMs = 30_000;
/** Others may take so many times what the settings say of a proof. */
const patienceFactor = 2;

/**
 * 'proved': a proof was made or tried. 'held': none is to be made now, and this node must be free for those to come, so it
 * takes no other work. 'free': nothing is owed.
 */
type Outcome = 'proved' | 'held' | 'free';

interface DrawnProofs {
  /** @param isAlone the control plane is not asked */
  proveNext(stop: AbortSignal, isAlone?: boolean): Promise<Outcome>;
}

interface StakedRun {
  readonly job: KeptJob;
  readonly borders: readonly Uint8Array[];
  readonly terms: Terms;
  readonly patienceSeconds: number;
  readonly own: OwnProofs;
}

export function openDrawnProofs(parts: NodeParts, prove: typeof runProof): DrawnProofs {
  const { kept, escrow } = parts;
  const quietUntil = new Map<string, number>();
  const quiet = (jobId: string, ms: number): void => void quietUntil.set(jobId, performance.now() + ms);
  const asked = new Map<string, OwnProofs>();
  /** Of what the chain has not been asked it may be. */
  const open = new Map<string, boolean>();
  const dueOf = openDue(escrow);
  const byAnybody = async ({ job, borders, own }: StakedRun, due: Due, stop: AbortSignal): Promise<boolean> => {
    const { jobId, told } = job;
    if (due.segments.every((index) => told.includes(index))) return false;
    const next = await own.next(due.segments);
    if (next.task === null) {
      if (next.kept) quiet(jobId, 0);
      return false;
    }
    if (!isOf(next.task, jobId, due)) return false;
    quiet(jobId, tryAgainMs);
    if (await prove(next.task, parts, stop, borders)) quiet(jobId, 0);
    return true;
  };
  const byItself = async ({ jobId }: KeptJob, missing: readonly number[], stop: AbortSignal): Promise<boolean> => {
    for (const index of missing) {
      if (stop.aborted) return false;
      try {
        await proveUnasked(jobId, index, parts);
        quiet(jobId, 0);
        return true;
      } catch (error) {
        parts.watch.failure('proof');
        note(`prove ${index} of ${jobId}`, error);
      }
    }
    quiet(jobId, tryAgainMs);
    return false;
  };
  const look = async (jobId: string, stop: AbortSignal, isAlone: boolean): Promise<boolean> => {
    quiet(jobId, askAgainMs);
    try {
      const run = runOf(jobId, parts, asked);
      if (run === null) {
        open.set(jobId, false);
        return false;
      }
      open.set(jobId, true);
      const due = await dueOf(run);
      open.set(jobId, due.isOpen);
      await run.own.dropForeign(due.owed);
      const held = kept.find(jobId)?.proofs ?? [];
      const missing = due.owed.filter((index) => !held.includes(index));
      if (missing.length > 0 && (due.isUrgent || isAlone)) return await byItself(run.job, missing, stop);
      return !isAlone && (await byAnybody(run, due, stop));
    } catch (error) {
      note(`proofs drawn of ${jobId}`, error);
      return false;
    }
  };
  return {
    async proveNext(stop, isAlone = false) {
      const ids = kept.ids();
      for (const jobId of ids) {
        if ((quietUntil.get(jobId) ?? 0) > performance.now()) continue;
        if (await look(jobId, stop, isAlone)) return 'proved';
      }
      return ids.some((jobId) => open.get(jobId) === true) ? 'held' : 'free';
    },
  };
}

/** What a run owes, as the chain said a short while ago where it has many segments. */
function openDue(escrow: NodeParts['escrow']): (run: StakedRun) => Promise<Due> {
  const said = new Map<string, { readonly due: Due; readonly until: number }>();
  return async ({ job: { jobId }, terms, patienceSeconds }) => {
    const before = said.get(jobId);
    if (before !== undefined && performance.now() < before.until) return before.due;
    const due = await escrow.due(terms, patienceSeconds);
    said.set(jobId, { due, until: performance.now() + perSegmentMs * due.segments.length });
    return due;
  };
}

/** Null: it is no sampled run of this node. */
function runOf(jobId: string, parts: NodeParts, asked: Map<string, OwnProofs>): StakedRun | null {
  const job = parts.kept.find(jobId);
  const told = job?.delivery ?? job?.refused;
  const borders = job?.borders ?? told?.borders.map((border) => fromHex(border));
  if (job == null || borders === undefined) return null;
  const terms = decodeTerms(job.terms);
  if (!isSampled(terms)) return null;
  const patienceSeconds = Math.min(patienceFactor * parts.settings.escrow.proofSeconds, terms.windows.prove / 4);
  const staked = { jobId, spec: parseJobSpec(job.spec), terms, borders };
  const own = asked.get(jobId) ?? openOwnProofs(staked, parts, 1000 * patienceSeconds);
  asked.set(jobId, own);
  return { job, borders, terms, patienceSeconds, own };
}

/** Whatever else the control plane hands out under this name takes the time that the stake needs. */
function isOf({ jobId, job, index }: ProofTask, ownId: string, due: Due): boolean {
  return jobId === ownId && job.jobId === ownId && due.segments.includes(index);
}
