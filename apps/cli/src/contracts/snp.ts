/** What the chain knows of SEV-SNP: certificates, images, and keys of sessions. */
import { ConfigurationError } from '#attestation/base';
import { parseSessionEvidence, sessionEvidenceBytesMax } from '#attestation/records';
import { readBytes, readJson } from '#libs/client/files';
import { parseChainSnpPolicy, SettlementClient, snpPolicyId, type ChainSnpPolicy } from '#libs/settlement';
import type { SigningOptions } from '../commands/contracts-target.js';
import { printResult, table } from '../output.js';
import { signing } from './chain.js';

const certificateBytesMax = 64 * 1024;

interface CertificateOptions extends SigningOptions {
  readonly leaf: string;
  readonly issuer: string;
}

interface ImageOptions extends SigningOptions {
  readonly policy: string;
  readonly image: `0x${string}`;
  readonly disallow?: boolean;
}

interface RegisterOptions extends SigningOptions {
  readonly policy: string;
  readonly evidence: string;
  readonly leaf?: string;
  readonly issuer?: string;
}

export async function addCertificate(options: CertificateOptions): Promise<void> {
  const [leaf, issuer] = [options.leaf, options.issuer].map((file) => readBytes(file, certificateBytesMax));
  await signing(options, async (signer, deployment, cap) => {
    const added = await new SettlementClient(deployment, signer, cap).snp.addCertificate(leaf!, issuer!);
    printResult(options, { transaction: added?.txHash ?? null }, () => table([['added', added?.txHash ?? 'before']]));
  });
}

export async function setImage(options: ImageOptions): Promise<void> {
  const policy = readChainPolicy(options.policy);
  const allowed = options.disallow !== true;
  await signing(options, async (signer, deployment, cap) => {
    const set = await new SettlementClient(deployment, signer, cap).snp.setMeasurement(policy, options.image, allowed);
    const result = { policy: snpPolicyId(policy), allowed, transaction: set?.txHash ?? null };
    printResult(options, result, () => table([[allowed ? 'allowed' : 'refused', set?.txHash ?? 'before']]));
  });
}

export async function register(options: RegisterOptions): Promise<void> {
  const policy = readChainPolicy(options.policy);
  const evidence = parseSessionEvidence(readBytes(options.evidence, sessionEvidenceBytesMax));
  const [carried, issuedBy] = evidence.cpu.certificates;
  const leaf = options.leaf === undefined ? carried : readBytes(options.leaf, certificateBytesMax);
  const issuer = options.issuer === undefined ? issuedBy : readBytes(options.issuer, certificateBytesMax);
  if (leaf === undefined) throw noLeaf(options.evidence);
  await signing(options, async (signer, deployment, cap) => {
    const { snp } = new SettlementClient(deployment, signer, cap);
    if (issuer !== undefined) await snp.addCertificate(leaf, issuer);
    const registered = await snp.register(policy, evidence, leaf);
    const id = snpPolicyId(policy);
    const now = await snp.registrationOf(evidence.binding.settlementKey, id);
    const result = { policy: id, ...now, transaction: registered?.txHash ?? null };
    printResult(options, result, () =>
      table([
        ['registered', registered?.txHash ?? 'before'],
        ['may be bound until', now === null ? 'never' : new Date(1000 * now.notAfter).toISOString()],
      ]),
    );
  });
}

function readChainPolicy(file: string): ChainSnpPolicy {
  return parseChainSnpPolicy(readJson(file));
}

function noLeaf(file: string): ConfigurationError {
  return new ConfigurationError('SNP_LEAF', {
    expected: 'the certificate of the key that signed the report',
    got: `none in ${file}`,
    rule: 'contracts/SPEC.md §10',
    action: 'name it with --leaf',
  });
}
