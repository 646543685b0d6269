/** The prover operator's settings: where to work, for whose account, with how much of this machine. */
import { z } from 'zod';
import { fromHex } from '#attestation/base';
import {
  BrokerWaitSeconds,
  chainSettings,
  type ControlPlaneAddress,
  ControlPlaneSettings,
  escrowLimits,
  hostRoot,
  HttpUrl,
  readSettings,
  Seconds,
  watchSettings,
} from '#libs/node';
import { DeploymentJson } from '#libs/settlement';

/** What terms this node works under; anything else is refused before it costs money. */
export const ProverEscrow = z.strictObject({
  ...escrowLimits,
  proveMinSeconds: Seconds.default(600),
  /** Tokens beside the native coin, 0x-hexadecimal; amounts count in their smallest unit. */
  tokens: z.array(z.string().regex(/^0x[0-9a-f]{40}$/)).default([]),
});

const Settings = z.strictObject({
  name: z.string().min(1).max(64),
  controlPlane: ControlPlaneSettings,
  chain: z.strictObject({
    ...chainSettings(DeploymentJson),
    /** secp256k1 secret of the account that is paid and that key brokers know; file with 32 bytes hex. */
    accountKey: z.string(),
  }),
  escrow: ProverEscrow.prefault({}),
  /** Origins of the key brokers that this node asks; absent: any over https, or on this machine. */
  brokers: z.array(HttpUrl).optional(),
  brokerWaitSeconds: BrokerWaitSeconds,
  /**
   * File with 32 bytes as 0x-hexadecimal, as in the host agent's settings: with it this node goes on and proves where that host's
   * enclave has trained. Absent: derived from that of `chain.accountKey`, as a host agent of the same account does.
   */
  hostSecret: z.string().optional(),
  /** Takes whole jobs: trains them and sees to their proofs. */
  trains: z.boolean().default(true),
  /** Proves segments, its own and others'. A node that only trains hands its witness to one that proves. */
  proves: z.boolean().default(true),
  threads: z.int().min(1).max(16).default(1),
  memoryMiB: z.int().min(64).max(4096).default(2048),
  /** Folder with a Groth16 key for each plan that this node proves under; absent: it takes no job in that scheme. */
  groth16Keys: z.string().optional(),
  ...watchSettings,
  /** Proofs on their way to the chain. */
  dataDirectory: z.string(),
});

type Read = z.infer<typeof Settings>;

export type ProverSettings = Omit<Read, 'controlPlane' | 'hostSecret'> & {
  /** What the host's halves of the keys of checkpoints follow from. */
  readonly hostRoot: Uint8Array;
  readonly accountSecret: Uint8Array;
  readonly controlPlane: ControlPlaneAddress;
};

/** @throws ConfigurationError PROVER_SETTINGS naming the field, or the file that cannot be read */
export function loadSettings(path: string): ProverSettings {
  const named = { code: 'PROVER_SETTINGS', rule: 'prover worker, settings' };
  const { settings, controlPlane, near, secret } = readSettings<Read>(path, Settings, named);
  const { hostSecret, ...others } = settings;
  const accountSecret = secret(settings.chain.accountKey);
  return {
    ...others,
    controlPlane,
    dataDirectory: near(settings.dataDirectory),
    ...(settings.groth16Keys !== undefined && { groth16Keys: near(settings.groth16Keys) }),
    accountSecret: fromHex(accountSecret),
    hostRoot: hostRoot(accountSecret, hostSecret === undefined ? undefined : secret(hostSecret)),
  };
}
