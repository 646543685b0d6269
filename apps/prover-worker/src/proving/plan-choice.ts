/** Which named profile proves a manifest: the first that reaches 100 bits, in the order that suits its segment length. */
import { Rejection } from '#attestation';
import type { Manifest } from '#libs/step';
import { derivePlan, profiles, type Plan, type Variant } from '#libs/zk/verifier';

/** Profiles for short segments give short proofs, those for long segments prove more samples per second. */
const preference = [
  { stepsMax: 4, names: ['chain1', 'chain16', 'fast16', 'fast64'] },
  { stepsMax: 32, names: ['fast16', 'chain16', 'fast64'] },
  { stepsMax: Infinity, names: ['fast64', 'fast16', 'chain16'] },
];

/**
 * @param name a profile, or `auto`
 * @throws Rejection STEP_PLAN when the manifest cannot be proved with 100 bits
 */
export function choosePlan(manifest: Manifest, name: string, variant: Variant): Plan {
  const row = preference.find(({ stepsMax }) => manifest.superblock <= stepsMax)!;
  const names = name === 'auto' ? row.names : [name];
  let refusal: unknown = new Rejection('STEP_PLAN', {
    expected: `one of ${[...profiles.keys()].join(', ')}`,
    got: name.slice(0, 40),
    rule: 'step-proof §12',
  });
  for (const candidate of names) {
    const profile = profiles.get(candidate);
    if (profile === undefined) continue;
    try {
      return derivePlan(manifest, profile, variant);
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
      refusal = error;
    }
  }
  throw refusal;
}
