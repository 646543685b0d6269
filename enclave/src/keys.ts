/** The keys of one enclave session: made in the guest, never leave it, die with the process. */
import { x25519 } from '@noble/curves/ed25519.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import * as ed25519 from '@noble/ed25519';
import { addressOfPublicKey, signRecoverable } from '#attestation/base';
import { type KeyBinding } from '#attestation/records';

export interface SessionKeys {
  readonly binding: KeyBinding;
  signReceipt(message: Uint8Array): Promise<Uint8Array>;
  /** 65 bytes r ‖ s ‖ v, v of 27 or 28, over a 32-byte digest. */
  signSettlement(digest: Uint8Array): Uint8Array;
  /** X25519 private key, 32 bytes. */
  readonly transportSecret: Uint8Array;
}

interface SessionContext {
  /** Account that is paid, 20 bytes. */
  readonly provider: Uint8Array;
  readonly chainId: number;
  /** Enclave registry on that chain, 20 bytes. */
  readonly registry: Uint8Array;
}

export async function createSessionKeys(context: SessionContext): Promise<SessionKeys> {
  const receiptSecret = ed25519.utils.randomSecretKey();
  const settlementSecret = secp256k1.utils.randomSecretKey();
  const transport = x25519.keygen();
  return {
    binding: {
      ...context,
      receiptKey: await ed25519.getPublicKeyAsync(receiptSecret),
      settlementKey: addressOfPublicKey(secp256k1.getPublicKey(settlementSecret, false)),
      transportKey: transport.publicKey,
    },
    signReceipt: (message) => ed25519.signAsync(message, receiptSecret),
    signSettlement: (digest) => signRecoverable(digest, settlementSecret),
    transportSecret: transport.secretKey,
  };
}
