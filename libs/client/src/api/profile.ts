/** Where a client's control plane, chain and keys are: one JSON file, written by `veritrain up` or by hand. */
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { ConfigurationError } from '#attestation/base';
import { ChainKindJson, DeploymentJson } from '#libs/settlement/deployment';
import { createApi, type ControlPlaneApi } from './api.js';
import { readJson } from '../files/files.js';

const defaultProfile = '.veritrain/up/client.json';

const Profile = z.strictObject({
  controlPlane: z.strictObject({ url: z.url(), apiKey: z.string() }),
  broker: z.strictObject({
    url: z.url(),
    /** Account that signs releases. */
    account: z.string(),
    /** Folder that the broker reads data keys from; where `dataset seal` puts new ones. */
    keysFolder: z.string(),
  }),
  /** Appraisal policy, JSON. */
  policy: z.string(),
  chain: z.strictObject({
    rpcUrl: z.url(),
    pollingMs: z.int().min(10).default(1000),
    deployment: DeploymentJson,
    /** Kind of a chain whose id does not tell. */
    kind: ChainKindJson.optional(),
    /** Most that one unit of gas may cost, decimal; absent: as the kind of the chain has it. */
    feePerGasMaxWei: z
      .string()
      .regex(/^[1-9][0-9]{0,38}$/)
      .transform(BigInt)
      .optional(),
    /** secp256k1 secret of the paying account; file with 32 bytes hex. */
    accountKey: z.string(),
  }),
  /** Accounts of the nodes that jobs may go to without being named, the first choice first. */
  providers: z
    .array(z.string().regex(/^0x[0-9a-fA-F]{40}$/))
    .max(100)
    .optional(),
  /** Price from which a job counts as of high value: then its steps are proved besides. */
  highValueFromWei: z
    .string()
    .regex(/^[1-9][0-9]{0,38}$/)
    .optional(),
  /** Whether Groth16 keys that one machine made are good enough, for whoever made one can forge; false where absent. */
  developmentKeys: z.boolean().optional(),
  /** X25519 secret that results are decrypted with; file with 32 bytes hex. */
  recipientKey: z.string(),
});

export type Profile = z.infer<typeof Profile>;

/**
 * @param path --profile, else VERITRAIN_PROFILE, else the one that `veritrain up` writes
 * @throws ConfigurationError PROFILE, FILE_UNREADABLE, FILE_NOT_JSON
 */
export function loadProfile(path?: string): Profile {
  const file = path ?? process.env.VERITRAIN_PROFILE ?? defaultProfile;
  const result = Profile.safeParse(readJson(file));
  if (!result.success) {
    const issue = result.error.issues[0]!;
    throw new ConfigurationError('PROFILE', {
      expected: `${file}: ${issue.message}`,
      got: issue.path.join('.'),
      rule: 'client profile',
      action: 'start `veritrain up`, or name your profile with --profile',
    });
  }
  const near = (name: string): string => resolve(dirname(file), name);
  const { broker, chain, policy, recipientKey } = result.data;
  return {
    ...result.data,
    broker: { ...broker, keysFolder: near(broker.keysFolder) },
    chain: { ...chain, accountKey: near(chain.accountKey) },
    policy: near(policy),
    recipientKey: near(recipientKey),
  };
}

/** The control plane as this client. */
export function openApi({ controlPlane }: Pick<Profile, 'controlPlane'>): ControlPlaneApi {
  return createApi(controlPlane.url, controlPlane.apiKey);
}
