import { equalBytes, Rejection, toHex } from '#attestation/base';
import { stepSpecDigest, type StepSpec, type Terms } from '#attestation/records';

/** @throws Rejection SEAL_SPEC when the terms are of another spec or another plan: the chain would refuse the seal */
export function checkSealSpec(terms: Terms, spec: StepSpec, plan: Uint8Array): void {
  const digest = stepSpecDigest(spec, plan);
  if (equalBytes(digest, terms.specDigest)) return;
  throw new Rejection('SEAL_SPEC', {
    expected: `a proof for spec digest ${toHex(terms.specDigest)}`,
    got: toHex(digest),
    rule: 'contracts/SPEC.md §3',
    action: 'prove the job that these terms are of, under the plan that its spec names',
  });
}
