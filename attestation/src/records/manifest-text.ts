/** A job's manifest as text: the members that records need of it. libs/step judges the rest. */
import { fromUtf8 } from '../base/bytes.js';
import { Rejection } from '../base/errors.js';

/**
 * One text, one meaning: an object in JSON without spaces, with no key twice.
 * @returns undefined for all other bytes
 */
export function manifestMembers(manifest: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const text = fromUtf8(manifest);
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject && JSON.stringify(value) === text ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined; // No UTF-8, no JSON, or nested too deeply.
  }
}

/** @throws Rejection JOB_MANIFEST */
export function refuseManifest(expected: string, got: unknown): never {
  const found = String(got).slice(0, 60);
  throw new Rejection('JOB_MANIFEST', { expected: `manifest, ${expected}`, got: found, rule: 'libs/step/SPEC.md §3' });
}

/** Steps that the manifest has a job of. @throws Rejection JOB_MANIFEST */
export function stepsOf(manifest: Uint8Array): number {
  const members = manifestMembers(manifest) ?? refuseManifest('canonical JSON', `${manifest.length} bytes`);
  const { steps } = members;
  return isCount(steps) ? steps : refuseManifest('steps: a whole number', steps);
}

/** Steps, sizes and counts of a manifest stay below 2^40. */
export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 40;
}
