/** Why no node that is online can take a job, in words: the demands of `job-queue.ts` on a node, one after the other. */
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, MoreThan } from 'typeorm';
import { needsTee, type Assurance } from '#attestation/records';
import { NodeRecord, type Job } from '#libs/persistence';
import type { JobRequirements, NodeCapabilities } from '#libs/wire';
import type { Config } from '../core/config/config.js';
import { CONFIG } from '../core/config/tokens.js';
import { Clock } from '../core/timing/clock.js';
import { onlineSince } from '../core/timing/online.js';
import { anyProvider, keysOf } from './job-queue.js';
import { semanticsOf } from './semantics.js';

/** Nodes that are looked at, those heard of last. */
const nodesMax = 1_000;

type Node = Pick<NodeRecord, 'provider' | 'capabilities'>;
type Asked = Pick<Job, 'provider' | 'assurance' | 'parallel' | 'price' | 'requirements'>;

/** What a node must be, as the end of "none of them …". */
interface Demand {
  readonly words: string;
  holds(node: Node): boolean;
}

@Injectable()
export class Placement {
  constructor(
    private readonly database: DataSource,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** @returns null where a node can take it, as far as it says of itself */
  async unplaced(job: Asked): Promise<string | null> {
    const nodes = await this.database.manager.find(NodeRecord, {
      where: { state: 'ready', lastSeenAt: MoreThan(onlineSince(this.clock, this.config)) },
      select: { id: true, provider: true, capabilities: true },
      order: { lastSeenAt: 'DESC' },
      take: nodesMax,
    });
    return misfit(job, nodes);
  }
}

/** @returns the first demand that leaves none of the nodes, or null */
export function misfit(job: Asked, nodes: readonly Node[]): string | null {
  if (nodes.length === 0) return 'no node is online';
  let left = nodes;
  for (const demand of demandsOf(job)) {
    const fitting = left.filter((node) => demand.holds(node));
    if (fitting.length === 0) return `of ${left.length} nodes online none ${demand.words}`;
    left = fitting;
  }
  return null;
}

function demandsOf({ provider, assurance, parallel, price, requirements }: Asked): readonly Demand[] {
  const { tee, tcb, cores = 0, memoryMiB = 0, samplesPerSecond = 0, ...more } = requirements as JobRequirements;
  const { groth16Key, fxt, ops = [], start = false, pieces = false } = more;
  const isAttested = needsTee(assurance as Assurance);
  const demands: readonly (Demand | null)[] = [
    provider === anyProvider
      ? null
      : { words: `is of provider ${provider}`, holds: (node) => node.provider === provider },
    {
      words: isAttested ? 'has a TEE' : 'is without a TEE, as those are that prove',
      holds: (node) => isAttested === (has(node).tee !== 'none'),
    },
    tee === undefined
      ? null
      : { words: `has a TEE of kind ${tee.join(' or ')}`, holds: (node) => tee.includes(has(node).tee) },
    groth16Key === undefined
      ? null
      : {
          words: `has the Groth16 key ${groth16Key}`,
          holds: ({ capabilities }) => keysOf(capabilities).includes(groth16Key),
        },
    fxt === undefined
      ? null
      : { words: `trains fxt ${fxt}`, holds: ({ capabilities }) => semanticsOf(capabilities).fxt.includes(fxt) },
    ...ops.map((op) => ({
      words: `trains the op ${op}${ops.length > 1 ? ' beside the others' : ''}`,
      holds: ({ capabilities }: Node) => semanticsOf(capabilities).ops.includes(op),
    })),
    start
      ? {
          words: 'starts a job from uploaded weights',
          holds: ({ capabilities }) => semanticsOf(capabilities).start,
        }
      : null,
    pieces
      ? {
          words: 'carries a state beyond one message, in pieces',
          holds: ({ capabilities }) => semanticsOf(capabilities).pieces,
        }
      : null,
    parallel === 1 ? null : { words: 'trains in data parallel', holds: (node) => has(node).parallel === true },
    { words: `takes ${price} wei`, holds: (node) => BigInt(has(node).priceMin ?? 0) <= BigInt(price) },
    tcb === undefined
      ? null
      : { words: `has firmware that is ${tcb}`, holds: (node) => (has(node).tcb ?? 'unknown') === tcb },
    { words: `has ${cores} cores`, holds: (node) => has(node).cores >= cores },
    { words: `has ${memoryMiB} MiB of memory`, holds: (node) => has(node).memoryMiB >= memoryMiB },
    {
      words: `trains ${samplesPerSecond} samples a second`,
      holds: (node) => (has(node).samplesPerSecond ?? 0) >= samplesPerSecond,
    },
  ];
  return demands.filter((demand) => demand !== null);
}

const has = ({ capabilities }: Node): NodeCapabilities => capabilities as NodeCapabilities;
