/** Whether parameters are sure to stay within their guards for some steps, whatever the data (libs/step/SPEC.md §26). */
import { netOf } from './manifest.js';
import type { NetManifest } from './net.js';
import { guardMax, trainedShapes } from './state.js';

/**
 * @param most largest magnitude of a parameter before the first step, by its name
 * @returns `false` says only that the optimizer's bounds do not show it
 */
export function staysGuarded(
  m: NetManifest,
  fromStep: number,
  stepCount: number,
  most: (parameter: string) => number,
): boolean {
  const { kind, members } = netOf(m).optimizer;
  const moves = new Map<string, bigint>();
  return trainedShapes(m).every((parameter) => {
    if (kind.moveMax === undefined) return false;
    const alike = `${parameter.fraction} ${parameter.wint}`;
    let all = moves.get(alike) ?? 0n;
    for (let i = 0; i < stepCount && !moves.has(alike); i++) all += kind.moveMax(members, parameter, fromStep + i);
    moves.set(alike, all);
    return BigInt(most(parameter.name)) + all <= guardMax(parameter);
  });
}

/** Whether `staysGuarded` can ever be sure. */
export function hasMoves(m: NetManifest): boolean {
  return netOf(m).optimizer.kind.moveMax !== undefined;
}
