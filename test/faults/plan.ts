/** What goes wrong under a seed, and when: a pure function of the seed, so that a failure can be had again. */
import { partNames, type PartName } from '../../apps/cli/src/system/distributed.js';
import { randomOf, type Random } from './random.js';

/** A fault begins some time after the job has come to a state, or to its n-th checkpoint. */
export interface Moment {
  readonly at: 'submitted' | 'assigned' | 'attested' | 'running' | 'checkpoint' | 'delivered';
  readonly checkpoint: number;
  readonly afterMs: number;
}

export type Fault =
  | { readonly kind: 'kill'; readonly part: PartName }
  | { readonly kind: 'stop'; readonly part: PartName | 'chain' }
  | { readonly kind: 'kill-enclave' }
  | { readonly kind: 'restart-database' }
  | { readonly kind: 'wipe-broker' }
  | { readonly kind: 'partition'; readonly part: Dialling | 'holder' }
  | { readonly kind: 'cut'; readonly part: Dialling }
  | { readonly kind: 'slow'; readonly part: Dialling; readonly delayMs: number }
  | { readonly kind: 'lossy-messages'; readonly drop: number; readonly duplicate: number; readonly late: number }
  | { readonly kind: 'full-disk'; readonly disk: Disk }
  | { readonly kind: 'clock'; readonly part: Ticking; readonly byMs: number }
  | { readonly kind: 'broker-away' }
  | { readonly kind: 'challenge-flood' };

const diallingParts = ['replica-1', 'replica-2', 'key-broker', 'node-tls', 'node-nats'] as const;
export type Dialling = (typeof diallingParts)[number];
export const tickingParts = diallingParts;
export type Ticking = (typeof tickingParts)[number];
export const disks = ['ciphertexts', 'node-tls', 'node-nats'] as const;
export type Disk = (typeof disks)[number];

export interface PlannedFault {
  readonly fault: Fault;
  readonly moment: Moment;
  /** How long until it is repaired. */
  readonly forMs: number;
}

export interface Plan {
  readonly seed: number;
  readonly steps: number;
  readonly segmentSteps: number;
  /** Workers of a data-parallel job; 1: a plain one. */
  readonly parallel: number;
  /** Training waits at the first border until the session's attestation was renewed. */
  readonly renews: boolean;
  readonly faults: readonly PlannedFault[];
}

export const kinds = [
  'kill',
  'stop',
  'kill-enclave',
  'restart-database',
  'wipe-broker',
  'partition',
  'cut',
  'slow',
  'lossy-messages',
  'full-disk',
  'clock',
  'broker-away',
  'challenge-flood',
] as const satisfies readonly Fault['kind'][];

const moments = ['submitted', 'assigned', 'attested', 'running', 'checkpoint', 'checkpoint', 'delivered'] as const;
/** Between borders: segments, or rounds. */
const borders = 4;
const workers = 2;
const faultsMax = 3;
/** When the job still needs its key broker, to begin or to go on. */
const beforeKey = ['submitted', 'submitted', 'assigned', 'running'] as const;
/** Of a key broker's restart that takes its time. */
const awayMs = 120_000;
/** What befalls the key broker in every seed is drawn beside everything else. */
const brokerStream = 0x6b657973;
/** A lease of the fault runs, 4 s, with the sweep that ends it; and room for another node to take the job. */
const beyondLeaseMs = [6000, 10_000] as const;

/**
 * @param possible  kinds that this machine can do
 * @param parts  that there are
 * @param mayRenew  attestations are short enough to be waited for
 */
export function planOf(
  seed: number,
  possible: readonly Fault['kind'][] = kinds,
  parts: readonly PartName[] = partNames,
  mayRenew = true,
): Plan {
  const random = randomOf(seed);
  const segmentSteps = 100 * random.whole(1, 3);
  const any = possible.filter((kind) => !ofBroker.has(kind));
  const faults = Array.from({ length: random.whole(1, faultsMax) }, () => ({
    fault: faultOf(random.pick(any), parts, random),
    moment: momentOf(random),
    forMs: random.whole(50, 4000),
  }));
  const isLate = possible.includes('partition') && random.whole(1, 4) === 1;
  const planned = isLate ? [beyondLease(random), ...faults.slice(1)] : faults;
  const parallel = random.whole(1, 4) === 1 ? workers : 1;
  const renews = random.whole(1, 5) === 1 && mayRenew && !isLate;
  const all = withBroker(planned, randomOf(seed ^ brokerStream), possible);
  return { seed, steps: borders * parallel * segmentSteps, segmentSteps, parallel, renews, faults: all };
}

const ofBroker: ReadonlySet<Fault['kind']> = new Set(['broker-away', 'challenge-flood']);

function momentOf(random: Random): Moment {
  return { at: random.pick(moments), checkpoint: random.whole(1, borders - 1), afterMs: random.whole(0, 300) };
}

/**
 * The key broker restarts, strangers ask it for challenges of the job, its clock is set: one of them at least under every
 * seed. Under about every tenth it is away for two minutes and nothing else happens, so that nothing else explains an end.
 */
function withBroker(
  others: readonly PlannedFault[],
  random: Random,
  possible: readonly Fault['kind'][],
): readonly PlannedFault[] {
  const mayBe = [
    { kind: 'kill', part: 'key-broker' },
    { kind: 'challenge-flood' },
    { kind: 'clock', part: 'key-broker', byMs: clockBy(random) },
  ] as const;
  const can = mayBe.filter(({ kind }) => possible.includes(kind));
  const certain = random.whole(0, can.length - 1);
  if (random.whole(1, 10) === 1 && possible.includes('broker-away')) {
    const moment = { ...momentOf(random), at: random.pick(beforeKey) };
    return [{ fault: { kind: 'broker-away' }, moment, forMs: awayMs }];
  }
  const chosen = can.filter((_, at) => random.whole(1, 2) === 1 || at === certain);
  const planned = chosen.map((fault) => {
    const moment = { ...momentOf(random), at: random.pick([...beforeKey, ...moments]) };
    return { fault, moment, forMs: random.whole(500, 6000) };
  });
  return [...others, ...planned];
}

/** Whoever has the lease trains on alone until it has ended, and comes back as a late writer. */
function beyondLease(random: Random): PlannedFault {
  const moment = { at: 'checkpoint', checkpoint: random.whole(1, borders - 1), afterMs: 0 } as const;
  return { fault: { kind: 'partition', part: 'holder' }, moment, forMs: random.whole(...beyondLeaseMs) };
}

/** Step at which training waits, for the first fault to begin or for a renewal; null where it does not. */
export function heldAt({ faults, segmentSteps, parallel, renews }: Plan): number | null {
  const borderSteps = parallel * segmentSteps;
  if (renews) return borderSteps;
  return isCutOff(faults) ? faults[0]!.moment.checkpoint * borderSteps : null;
}

/** Step at which whoever takes the job from a node that is cut off waits for it to be back. */
export function successorHeldAt(plan: Plan): number {
  return heldAt(plan)! + plan.parallel * plan.segmentSteps;
}

function isCutOff([first]: Plan['faults']): boolean {
  return first !== undefined && cutsOff(first.fault);
}

/** The node that has the lease, in mid-training. */
export function cutsOff(fault: Fault): boolean {
  return fault.kind === 'partition' && fault.part === 'holder';
}

function faultOf(kind: Fault['kind'], parts: readonly PartName[], random: Random): Fault {
  switch (kind) {
    case 'kill':
      return { kind, part: random.pick(parts) };
    case 'stop':
      return { kind, part: random.pick([...parts, 'chain'] as const) };
    case 'kill-enclave':
    case 'restart-database':
    case 'wipe-broker':
    case 'broker-away':
    case 'challenge-flood':
      return { kind };
    case 'partition':
      // Twice as often a node: it trains on, and whoever takes its job meets what it says later.
      return { kind, part: random.pick([...diallingParts, 'node-tls', 'node-nats']) };
    case 'cut':
      return { kind, part: random.pick(diallingParts) };
    case 'slow':
      return { kind, part: random.pick(diallingParts), delayMs: random.whole(20, 400) };
    case 'lossy-messages':
      return { kind, drop: rate(random), duplicate: rate(random), late: rate(random) };
    case 'full-disk':
      return { kind, disk: random.pick(disks) };
    case 'clock': {
      const byMs = clockBy(random);
      return { kind, part: random.pick(tickingParts), byMs };
    }
  }
}

function clockBy(random: Random): number {
  const sign = random.pick([-1, 1]);
  return sign * random.pick([1000, 30_000, 600_000, 86_400_000]);
}

function rate(random: Random): number {
  return random.whole(0, 30) / 100;
}

export function describe({ fault, moment, forMs }: PlannedFault): string {
  const { kind, ...rest } = fault;
  const where = Object.values(rest).join(' ');
  const when = moment.at === 'checkpoint' ? `checkpoint ${moment.checkpoint}` : moment.at;
  return `${kind}${where === '' ? '' : ` ${where}`} for ${forMs} ms, ${moment.afterMs} ms after ${when}`;
}
