/** Which training semantics a node knows, and whether it can train what a job asks for. */
import type { NodeRecord } from '#libs/persistence';
import type { JobRequirements } from '#libs/wire';

interface Semantics {
  /** Numbers of the semantics; `[1]` of a node that does not say. */
  readonly fxt: readonly number[];
  /** Ops of `fxt/2`. */
  readonly ops: readonly string[];
  /** Whether it takes jobs that start from weights; none of a node that does not say. */
  readonly start: boolean;
  /** Whether it carries checkpoints and results in pieces; none of a node that does not say. */
  readonly pieces: boolean;
}

export function semanticsOf({ fxt, ops, start, pieces }: NodeRecord['capabilities']): Semantics {
  return {
    fxt: Array.isArray(fxt) && fxt.length > 0 ? (fxt as number[]) : [1],
    ops: Array.isArray(ops) ? (ops as string[]) : [],
    start: start === true,
    pieces: pieces === true,
  };
}

/** @param requirements of the job: one without `fxt` is of `fxt/1`, which every node trains */
export function canTrain(node: Pick<NodeRecord, 'capabilities'>, requirements: object): boolean {
  const { fxt, ops = [], start = false, pieces = false } = requirements as JobRequirements;
  const known = semanticsOf(node.capabilities);
  if ((start && !known.start) || (pieces && !known.pieces)) return false;
  return fxt === undefined || (known.fxt.includes(fxt) && ops.every((op) => known.ops.includes(op)));
}
