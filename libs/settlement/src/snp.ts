/** SEV-SNP evidence on chain: certificates, images, registrations of settlement keys. contracts/SPEC.md §10. */
import { X509Certificate, createHash } from 'node:crypto';
import { getBytes, keccak256 } from 'ethers';
import { snpProducts, type SnpProduct } from '#attestation';
import { concatBytes, Rejection, to0x } from '#attestation/base';
import { type SessionEvidence } from '#attestation/records';
import type { Calls, TxReceipt } from './calls.js';
import { checksummed, type Hex } from './chain.js';
import { snpRegistryAt, snpVerifierAt } from './contracts.js';
import type { Setup } from './deployment.js';
import { snpPolicyId, type ChainSnpPolicy } from './snp-policy.js';

interface SnpRegistrationView {
  readonly provider: string;
  /** Unix seconds until which the key may be bound to jobs. */
  readonly notAfter: number;
  readonly chip: string;
  readonly serial: string;
  readonly issuer: string;
  readonly product: number;
}

export class SnpClient {
  constructor(private readonly calls: Calls) {}

  /**
   * Has the chain verify a VCEK or VLEK once; anyone may.
   * @param leaf   its certificate, DER or PEM
   * @param issuer of the ASK or ASVK that signed it
   * @returns undefined where the chain knows it already
   */
  async addCertificate(leaf: Uint8Array, issuer: Uint8Array): Promise<TxReceipt | undefined> {
    if (await this.knows(leaf)) return undefined;
    const [der, modulus] = [new Uint8Array(certificateOf(leaf).raw), modulusOf(issuer)];
    return this.calls.send('addCertificate', () => this.#verifier.addCertificate.populateTransaction(der, modulus));
  }

  /** Whether the chain has verified this VCEK or VLEK. */
  async knows(leaf: Uint8Array): Promise<boolean> {
    const { product } = await this.calls.read('endorsementOf', () =>
      this.#verifier.endorsementOf(keccak256(pointOf(leaf))),
    );
    return product !== 0n;
  }

  /** By the policy's owner. @param measurement keccak256 of the 48-byte launch measurement */
  async setMeasurement(policy: ChainSnpPolicy, measurement: Hex, allowed: boolean): Promise<TxReceipt | undefined> {
    const id = snpPolicyId(policy);
    const now = await this.calls.read('isAllowed', () => this.#registry.isAllowed(id, measurement));
    if (now === allowed) return undefined;
    return this.calls.send('setMeasurement', () =>
      this.#registry.setMeasurement.populateTransaction(policyStruct(policy), measurement, allowed),
    );
  }

  /**
   * Registers the session's settlement key on its own report, whose nonce is the hash of a recent block.
   * @param leaf  VCEK or VLEK that signed the report
   * @returns undefined where the key is registered under this policy already
   */
  async register(policy: ChainSnpPolicy, evidence: SessionEvidence, leaf: Uint8Array): Promise<TxReceipt | undefined> {
    const { binding, cpu, gpus, claims, nonce } = evidence;
    if ((await this.registrationOf(binding.settlementKey, snpPolicyId(policy))) !== null) return undefined;
    const block = await this.calls.read('eth_getBlockByHash', () => this.calls.provider.getBlock(to0x(nonce)));
    if (block === null) throw otherNonce(to0x(nonce));
    const bound = {
      receiptKey: binding.receiptKey,
      settlementKey: checksummed(binding.settlementKey),
      transportKey: binding.transportKey,
      provider: checksummed(binding.provider),
      nonceBlock: block.number,
      gpuDigest: gpus.length === 0 ? zeroWord : sha256(concatBytes(...gpus.map(({ report }) => sha256(report)))),
      claimsDigest: claims.length === 0 ? zeroWord : sha256(claims),
    };
    return this.calls.send('register', () =>
      this.#registry.register.populateTransaction(policyStruct(policy), bound, cpu.report, pointOf(leaf)),
    );
  }

  /** @param key 20 bytes @returns null where the key was never registered under this policy */
  async registrationOf(key: Uint8Array, policyId: Hex): Promise<SnpRegistrationView | null> {
    const { provider, notAfter, chip, serial, issuer, product } = await this.calls.read('registrationOf', () =>
      this.#registry.registrationOf(checksummed(key), policyId),
    );
    if (product === 0n) return null;
    return { provider, notAfter: Number(notAfter), chip, serial, issuer, product: Number(product) };
  }

  get #registry() {
    return snpRegistryAt(this.calls.deployment.snpRegistry, this.calls.signer);
  }

  get #verifier() {
    return snpVerifierAt(this.calls.deployment.snpVerifier, this.calls.signer);
  }
}

/**
 * What a deployment knows the maker of a simulated vendor's VCEKs by.
 * @param certificate of its ASK, DER or PEM
 * @throws Rejection SNP_CERTIFICATE_FORM
 */
export function simulatedIssuer(certificate: Uint8Array, product: SnpProduct): Setup['simulatedIssuers'][number] {
  return { modulusHash: keccak256(modulusOf(certificate)), product: snpProducts.indexOf(product) + 1, vlek: false };
}

const zeroWord = new Uint8Array(32);

/** Tuples of the contract are read-only here. */
function policyStruct({ tcbFloors, ...policy }: ChainSnpPolicy) {
  return { ...policy, tcbFloors: [...tcbFloors] as [Hex, Hex, Hex] };
}

/** @throws Rejection SNP_CERTIFICATE_FORM */
function certificateOf(bytes: Uint8Array): X509Certificate {
  try {
    return new X509Certificate(bytes);
  } catch {
    throw badCertificate('an X.509 certificate, DER or PEM', `${bytes.length} bytes of something else`);
  }
}

/** x ‖ y of a P-384 key. */
function pointOf(leaf: Uint8Array): Uint8Array {
  const spki = certificateOf(leaf).publicKey.export({ format: 'der', type: 'spki' });
  if (spki.length !== 120) throw badCertificate('a P-384 key', `a key of ${spki.length} bytes`);
  return new Uint8Array(spki.subarray(spki.length - 96));
}

function modulusOf(issuer: Uint8Array): Uint8Array {
  const { n } = certificateOf(issuer).publicKey.export({ format: 'jwk' });
  if (n === undefined) throw badCertificate('an RSA key', 'another');
  return getBytes(new Uint8Array(Buffer.from(n, 'base64url')));
}

function badCertificate(expected: string, got: string): Rejection {
  return new Rejection('SNP_CERTIFICATE_FORM', { expected, got, rule: 'contracts/SPEC.md §10' });
}

function otherNonce(got: string): Rejection {
  return new Rejection('SNP_NONCE', {
    expected: 'evidence over the hash of a block of this chain',
    got,
    rule: 'contracts/SPEC.md §10',
    action: 'have the session attest over the newest block’s hash',
  });
}

function sha256(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(createHash('sha256').update(bytes).digest());
}
