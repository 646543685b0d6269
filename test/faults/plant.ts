/** What may be broken in a system on purpose; in a process by plant-main.ts, in the client here. */
import { Wallet } from 'ethers';
import { to0x } from '#attestation/base';
import { readSecret } from '#libs/client/files';
import { connect } from '#libs/settlement';
import type { FaultClient } from './jobs.js';

export const plantNames = [
  'no-fence',
  'lost-outbox',
  'ack-before-commit',
  'second-payment',
  'plaintext-on-disk',
  'grant-of-another-broker',
] as const;
export type PlantName = (typeof plantNames)[number];

/** The client with the plant in it, where the plant is the client's. */
export function withPlant(plant: PlantName | undefined, client: FaultClient): FaultClient {
  if (plant !== 'second-payment') return client;
  return {
    ...client,
    async settle(jobId) {
      const result = await client.settle(jobId);
      await payAgain(client);
      return result;
    },
  };
}

async function payAgain({ profile: { chain }, provider, reward }: FaultClient): Promise<void> {
  const rpc = connect(chain.rpcUrl, chain.deployment.chainId, chain.pollingMs);
  try {
    const wallet = new Wallet(to0x(readSecret(chain.accountKey)), rpc);
    await (await wallet.sendTransaction({ to: provider, value: reward })).wait();
  } finally {
    rpc.destroy();
  }
}
