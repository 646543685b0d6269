/** A settlement key in the registry of SEV-SNP evidence, where the terms demand one: contracts/SPEC.md §10. */
import { equalBytes, fromHex, isZero, Rejection, to0x } from '#attestation/base';
import { parseSessionEvidence, type Terms } from '#attestation/records';
import { latestBlock, snpPolicyId, type ChainSnpPolicy, type SettlementClient } from '#libs/settlement';
import { leafAndIssuer } from './endorsements.js';

/** Policies on chain that this host registers under, by their identity. */
export type SnpPolicies = ReadonlyMap<string, ChainSnpPolicy>;

/** One that this host sent, by what it asked of the chain. */
export interface Transaction {
  readonly call: string;
  readonly hash: string;
}

/** A session, as registering it needs it. */
export interface RegisteredSession {
  /** Evidence that the broker took, with its certificates. */
  readonly evidence: Uint8Array;
  attestOver(nonce: Uint8Array): Promise<Uint8Array>;
}

export function snpPoliciesOf(policies: readonly ChainSnpPolicy[]): SnpPolicies {
  return new Map(policies.map((policy) => [snpPolicyId(policy), policy]));
}

/** @throws Rejection HOST_TERMS_SNP where the host does not know the policy, or it is that of another policy of appraisal */
export function checkSnpPolicy({ snpPolicy, policy }: Terms, policies: SnpPolicies): void {
  if (isZero(snpPolicy)) return;
  const known = policies.get(to0x(snpPolicy));
  if (known === undefined) throw refused('an SNP policy of the settings', to0x(snpPolicy));
  if (!equalBytes(fromHex(known.salt), policy)) throw refused(`an SNP policy for ${to0x(policy)}`, known.salt);
}

/**
 * Has the chain verify the chip's certificate, once for all, and then a report over the newest block.
 * @returns what was sent: `addCertificate` and `register`, each where it was not done before
 * @throws Rejection HOST_TERMS_SNP, HOST_ENDORSEMENT; what the chain says
 */
export async function registerSession(
  { snpPolicy }: Terms,
  policies: SnpPolicies,
  { evidence, attestOver }: RegisteredSession,
  { snp, signer }: Pick<SettlementClient, 'snp' | 'signer'>,
): Promise<readonly Transaction[]> {
  if (isZero(snpPolicy)) return [];
  const policy = policies.get(to0x(snpPolicy));
  if (policy === undefined) throw refused('an SNP policy of the settings', to0x(snpPolicy));
  const { leaf, issuer } = leafAndIssuer(parseSessionEvidence(evidence).cpu.certificates);
  const added = await snp.addCertificate(leaf, issuer);
  const head = await latestBlock(signer.provider!);
  const fresh = await attestOver(fromHex(head.hash!));
  const registered = await snp.register(policy, parseSessionEvidence(fresh), leaf);
  const sent = { addCertificate: added, register: registered };
  return Object.entries(sent).flatMap(([call, receipt]) =>
    receipt === undefined ? [] : [{ call, hash: receipt.txHash }],
  );
}

function refused(expected: string, got: string): Rejection {
  return new Rejection('HOST_TERMS_SNP', {
    expected,
    got,
    rule: 'host agent settings, snpPolicies',
    action: 'add the policy on chain to the settings, or refuse the job',
  });
}
