/** Digests that bundles of versions 1 to 3 are signed over: two domains of version 1, and statements that named less. */
import type { Digest } from '../base/digest.js';
import {
  addressWord,
  separator,
  typedDigest,
  uintWord,
  type Appraisal,
  type ContractOnChain,
  type Run,
} from './eip712.js';

export type FormerRun = Omit<Run, 'keys'>;
export type FormerAppraisal = Pick<Appraisal, 'key' | 'policy' | 'provider' | 'evidence' | 'notAfter'>;

const types = {
  run: 'Run(bytes32 job,uint32 upTo,uint8 outcome,bytes32 bordersRoot,bytes32 last,bytes32 delivery)',
  appraisal: 'Appraisal(address key,bytes32 policy,address provider,bytes32 evidence,uint40 notAfter)',
} as const;

export function formerDomainSeparator(contract: ContractOnChain): Digest {
  return separator('Settlement', '1', contract);
}

export function formerRegistryDomainSeparator(contract: ContractOnChain): Digest {
  return separator('EnclaveRegistry', '1', contract);
}

export function formerRunDigest(domain: Digest, run: FormerRun): Digest {
  const { job, upTo, outcome, bordersRoot, last, delivery } = run;
  return typedDigest(domain, types.run, job, uintWord(upTo, 4), uintWord(outcome, 1), bordersRoot, last, delivery);
}

export function formerAppraisalDigest(domain: Digest, appraisal: FormerAppraisal): Digest {
  const { key, policy, provider, evidence, notAfter } = appraisal;
  const named = [addressWord(key), policy, addressWord(provider), evidence];
  return typedDigest(domain, types.appraisal, ...named, uintWord(notAfter, 5));
}
