/** Steps that an engine is asked for lie within their job. */
import { Rejection } from '#attestation/base';
import { isNet, type JobManifest } from '#libs/step';

/** @throws Rejection STEP_OUT_OF_JOB */
export function checkSteps(manifest: JobManifest, fromStep: number, stepCount: number): void {
  const { steps } = manifest;
  if (fromStep >= 0 && stepCount >= 0 && fromStep + stepCount <= steps) return;
  throw new Rejection('STEP_OUT_OF_JOB', {
    ...{ expected: `steps within 0..${steps}`, got: `${fromStep} to ${fromStep + stepCount}` },
    rule: isNet(manifest) ? 'libs/step/SPEC.md §21' : 'libs/step/SPEC.md §3',
    action: `ask for steps up to ${steps}, the last of the manifest`,
  });
}
