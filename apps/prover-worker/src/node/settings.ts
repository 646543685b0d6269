/** The prover operator's settings: where to work, for whose account, with how much of this machine. */
import { z } from 'zod';
import { fromHex } from '#attestation/base';
import { chainSettings, escrowLimits, loadNode, nodeSettings, Seconds, type Loaded } from '#libs/node';
import { proverMemoryMiB } from '#libs/proof';
import { DeploymentJson } from '#libs/settlement';

/** What terms this node works under; anything else is refused before it costs money. */
export const ProverEscrow = z.strictObject({
  ...escrowLimits,
  proveMinSeconds: Seconds.default(600),
});

const Settings = z.strictObject({
  ...nodeSettings,
  chain: z.strictObject({
    ...chainSettings(DeploymentJson),
    /** secp256k1 secret of the account that is paid and that key brokers know; file with 32 bytes hex. */
    accountKey: z.string(),
  }),
  escrow: ProverEscrow.prefault({}),
  /** Takes whole jobs: trains them and sees to their proofs. */
  trains: z.boolean().default(true),
  /** Proves segments, its own and others'. A node that only trains hands its witness to one that proves. */
  proves: z.boolean().default(true),
  threads: z.int().min(1).max(16).default(1),
  memoryMiB: z.int().min(32).max(4096).default(proverMemoryMiB),
  /** Folder with a Groth16 key for each plan that this node proves under; absent: it takes no job in that scheme. */
  groth16Keys: z.string().optional(),
});

type Read = z.infer<typeof Settings>;

export type ProverSettings = Loaded<Read> & { readonly accountSecret: Uint8Array };

const named = { code: 'PROVER_SETTINGS', rule: 'prover worker, settings' };

/** @throws ConfigurationError PROVER_SETTINGS naming the field, or the file that cannot be read */
export function loadSettings(path: string): ProverSettings {
  const { loaded, accountSecret, near } = loadNode<Read>(path, Settings, named, ({ chain }) => chain.accountKey);
  const { groth16Keys } = loaded;
  return {
    ...loaded,
    ...(groth16Keys !== undefined && { groth16Keys: near(groth16Keys) }),
    accountSecret: fromHex(accountSecret),
  };
}
