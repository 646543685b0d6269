/** What key brokers and attestors read of the chain. */
import type { Terms } from '#attestation/records';
import type { EscrowReader, JobState } from '#libs/settlement';

export type Escrows = Pick<EscrowReader, 'stateOf' | 'deliveryOf' | 'close'>;

/** States in which a run is under way, or will be. */
export const liveStates: readonly JobState[] = ['Open', 'Accepted', 'Started'];

const digest = new Uint8Array(32);
const account = new Uint8Array(20);

/** Terms of an escrow that nobody opened: a read of it shows whether the chain answers. */
export const termsOfNobody: Terms = {
  ...{ client: account, provider: account, keyBroker: account, token: account },
  ...{ specDigest: digest, initialWeights: digest, policy: digest, snpPolicy: digest, planDigest: digest },
  ...{ attestors: [], needed: 0, teeSelector: new Uint8Array(4), dutySelectors: [] },
  ...{ price: 0n, stake: 0n, liveness: 0n, bond: 0n, bondFee: 0n, publishFee: 0n },
  ...{ failShareBps: 0, holdbackBps: 0, segments: 0, samples: 0, unit: 0, unitSegments: 0, parts: 0 },
  ...{ providers: digest, mode: 0, seedCommitClient: digest, acceptBy: 0 },
  windows: {
    ...{ start: 0, compute: 0, finality: 0, draw: 0, challenge: 0, prove: 0, provePer: 0, hold: 0 },
    ...{ reveal: 0, ack: 0, drawBlocks: 0 },
  },
};
