/** The range rules of a net: what they let through never leaves what float64 carries (libs/step/SPEC.md §28). */
import { refuse } from '../errors.js';
import { isqrt } from '../integers.js';
import type { NetBound, NetParameter } from './edge.js';
import type { Net } from './net.js';
import { netOps } from './ops/index.js';

/** @throws Rejection STEP_RANGE_<rule> with the layer */
export function checkNetBounds(net: Net): void {
  for (const { rule, where, value, limit } of netBounds(net)) {
    if (value < limit) continue;
    refuse(`STEP_RANGE_${rule}`, `${where}: less than ${limit}`, value, 'libs/step/SPEC.md §28');
  }
}

/** Worst cases of every layer, of the loss, and of the update of every trainable parameter. */
export function netBounds({ layers, parameters, loss, optimizer }: Net): readonly NetBound[] {
  const trained = parameters.filter(({ isFrozen }) => !isFrozen);
  return [
    ...layers.flatMap((layer) => netOps[layer.op]!.bounds(layer)),
    ...loss.kind.bounds(loss.members, loss.place),
    ...parameters.flatMap(startBounds),
    ...optimizer.kind.bounds(optimizer.members, trained),
  ];
}

/**
 * Whether every worst case lies below 2^52, so that float64 has a bit behind whatever a step rounds (§26), and parameters
 * below 2^50: between a step and its decay they may leave their guard, and come back.
 */
export function hasRoom(net: Net): boolean {
  const isNarrow = net.parameters.every(({ fraction, wint }) => fraction + wint <= 50);
  return isNarrow && netBounds(net).every(({ value }) => value < 1n << 52n);
}

/** Start values lie in the guarded range, and a master with its compute copy in what float64 carries. */
function startBounds(parameter: NetParameter): readonly NetBound[] {
  const { name, fraction, compute, wint } = parameter;
  const high = 1n << BigInt(fraction + wint);
  return [
    { rule: 'START', where: name, value: startMax(parameter), limit: high },
    { rule: 'START', where: name, value: high + (1n << BigInt(Math.max(0, fraction - compute))), limit: 1n << 53n },
  ];
}

/** Largest magnitude of a start value; of imported weights the importer answers. */
export function startMax({ draw, start, fraction }: NetParameter): bigint {
  if (draw !== undefined) return isqrt((BigInt(draw.n) * 4n ** BigInt(fraction)) / BigInt(draw.fan));
  return start === 'one' ? 1n << BigInt(fraction) : 0n;
}
