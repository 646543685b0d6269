/** The host operator's side of the escrow: stake and start before the work, seal and reveal after it. */
import { createHash } from 'node:crypto';
import { Wallet } from 'ethers';
import { decodeTerms, type Terms } from '#attestation';
import { addressBytes, connect, SettlementClient, type TxReceipt } from '#libs/settlement';
import type { BrokerRelease } from './broker-client.js';
import type { PendingResult } from './pending.js';
import type { HostSettings } from './settings.js';

export interface Transaction {
  readonly call: string;
  readonly hash: string;
}

/** `uncommitted`: the chain does not know of the result (any more); `done`: there is nothing left to do. */
export type Collected = 'uncommitted' | 'waiting' | 'done';

export interface Provider {
  /** Account that is paid, 20 bytes. */
  readonly account: Uint8Array;
  /** Locks the stake, registers the session's settlement key, starts the job. Idempotent. */
  engage(terms: Terms, answer: BrokerRelease): Promise<readonly Transaction[]>;
  /** Commits the sealed run; idempotent. */
  commit(result: PendingResult): Promise<void>;
  /** Takes the next step towards the money. */
  collect(result: PendingResult): Promise<Collected>;
  close(): void;
}

export function createProvider(settings: HostSettings): Provider {
  const { rpcUrl, deployment, pollingMs, confirmations } = settings.chain;
  const rpc = connect(rpcUrl, deployment.chainId, pollingMs);
  const wallet = new Wallet(settings.providerSecret, rpc);
  const escrow = new SettlementClient(deployment, wallet, { confirmations });
  const account = addressBytes(wallet.address);
  const named = (call: string, { txHash }: TxReceipt): Transaction => ({ call, hash: txHash });

  return {
    account,
    async engage(terms, answer) {
      const { appraisal, release, releaseSignature } = answer;
      const accepted = await escrow.accept(terms);
      const registered = await escrow.registerEnclave(appraisal, [answer.appraisalSignature]);
      const { enclaveKey, shardsDigest } = release;
      const started = await escrow.start(terms, {
        enclaveKey,
        shardsDigest,
        signer: answer.account,
        signature: releaseSignature,
      });
      return [named('accept', accepted), named('register', registered), named('start', started)];
    },
    async commit({ terms, run, borders, seal }) {
      const { outcome, delivery } = run;
      await escrow.commit(decodeTerms(terms), { outcome, borders, seal, delivery, seedProvider: new Uint8Array(32) });
    },
    async collect(result) {
      const terms = decodeTerms(result.terms);
      const { state, ackUntil } = await escrow.job(terms);
      if (state === 'Committed') {
        if ((await rpc.getBlock('latest'))!.timestamp < ackUntil) return 'waiting';
        const digest = new Uint8Array(createHash('sha256').update(result.ciphertext).digest());
        const revealed = result.run.outcome === 0 ? { ciphertextDigest: digest, key: result.revealKey } : undefined;
        await escrow.finalize(terms, revealed);
        return 'waiting';
      }
      if (state === 'Started') return 'uncommitted';
      if (state === 'Open' || state === 'Accepted') return 'waiting';
      await escrow.withdraw(terms.token);
      return 'done';
    },
    close: () => rpc.destroy(),
  };
}
