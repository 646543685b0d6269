/** Throw-away accounts, API keys and secrets of the embedded system. Worth nothing outside it. */
import { randomBytes } from 'node:crypto';
import { HDNodeWallet } from 'ethers';
import { fromHex } from '#attestation/base';
import { testMnemonic } from '#libs/settlement';

/** An account that the local chain funds: 0 deploys, 1 pays, 2 is paid. */
export function testAccountSecret(index: number): Uint8Array {
  return fromHex(HDNodeWallet.fromPhrase(testMnemonic, undefined, `m/44'/60'/0'/0/${index}`).privateKey);
}

export function newSecret(): Uint8Array {
  return new Uint8Array(randomBytes(32));
}

export function newApiKey(): string {
  return `vt_${randomBytes(6).toString('hex')}_${randomBytes(24).toString('base64url')}`;
}
