/** Which escrow terms of either layout are of: its id, and the domain of what is signed for it. */
import { keccak, type Digest } from '../base/digest.js';
import { domainSeparator, type ContractOnChain } from './eip712.js';
import { formerDomainSeparator } from './former-eip712.js';
import { encodeFormerTerms, type FormerTerms } from './former-terms.js';
import { escrowIdOf, type Terms } from './terms.js';

export interface EscrowIdentity {
  readonly job: Digest;
  readonly domain: Digest;
}

export function escrowIdentity(terms: Terms | FormerTerms, contract: ContractOnChain): EscrowIdentity {
  if ('attestors' in terms) return { job: escrowIdOf(terms), domain: domainSeparator(contract) };
  return { job: keccak(encodeFormerTerms(terms)), domain: formerDomainSeparator(contract) };
}
