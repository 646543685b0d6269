/** The host operator's settings: where to work, for whose account, with which enclave. */
import { z } from 'zod';
import {
  AccountText,
  chainSettings,
  escrowLimits,
  HttpUrl,
  loadNode,
  nodeSettings,
  Seconds,
  type Loaded,
} from '#libs/node';
import { DeploymentJson, parseChainSnpPolicy } from '#libs/settlement';
import { snpPoliciesOf, type SnpPolicies } from './registration.js';

/** What terms this host works under; anything else is refused before it costs money (checkTerms). */
export const EscrowSettings = z.strictObject({
  ...escrowLimits,
  /** Most of the stake that a run that never comes may cost, in hundredths of a percent. */
  livenessMaxBps: z.int().min(0).max(10_000).default(2000),
  /** Jobs that are paid when their steps are proved besides: where provers are at hand that the data owners name. */
  acceptProved: z.boolean().default(false),
  startMinSeconds: Seconds.default(600),
  ackMinSeconds: Seconds.default(600),
  revealMinSeconds: Seconds.default(1800),
  /**
   * Whether jobs are taken whose client, with its key broker, may revoke keys alone and so end them unpaid. Absent: on a local
   * chain alone.
   */
  acceptClientQuorum: z.boolean().optional(),
  /**
   * Whether jobs are taken whose result is larger than 16 MiB, which neither key broker nor chain takes: a client that says it
   * is missing need not pay. Absent: on a local chain alone.
   */
  acceptUnpublishable: z.boolean().optional(),
  /** Accounts of key brokers that this host holds not to be of the client's side. */
  independentBrokers: z.array(AccountText).default([]),
});

const Settings = z.strictObject({
  ...nodeSettings,
  chain: z.strictObject({
    ...chainSettings(DeploymentJson),
    /** secp256k1 secret of the account that is paid; file with 32 bytes hex. */
    providerKey: z.string(),
  }),
  escrow: EscrowSettings.prefault({}),
  /** Where attestors that terms may list answer, by account. */
  attestors: z.record(AccountText, HttpUrl).default({}),
  /** Files of policies of SEV-SNP registrations on chain, as `veritrain policy snp` prints them. */
  snpPolicies: z.array(z.string()).default([]),
  enclave: z.strictObject({
    /** Where the guest's enclave listens, `tcp:HOST:PORT` or `unix:PATH`; absent: it is started as a process of this host. */
    address: z
      .string()
      .regex(/^(unix:.+|tcp:.+:\d{1,5})$/)
      .optional(),
    attester: z.enum(['snp', 'tdx', 'simulated']),
    /** Simulated attester only. */
    vendor: z.string().optional(),
    /** `nvml`: every GPU of the guest is part of its evidence. */
    gpus: z.enum(['none', 'nvml']).default('none'),
    threads: z.int().min(1).max(256).default(1),
  }),
  /** Where certificates come from that the evidence of SNP guests lacks. */
  endorsements: z
    .strictObject({
      /** Whether AMD's service, or a mirror of it, is asked. */
      fetch: z.boolean().default(true),
      /** Origin to the one that stands in for it. */
      mirrors: z.record(HttpUrl, HttpUrl).default({}),
    })
    .prefault({}),
});

type Read = z.infer<typeof Settings>;

export type HostSettings = Omit<Loaded<Read>, 'snpPolicies'> & {
  readonly providerSecret: string;
  readonly snpPolicies: SnpPolicies;
};

const named = { code: 'HOST_SETTINGS', rule: 'host agent settings' };

/** @throws ConfigurationError HOST_SETTINGS naming the field, or the file that cannot be read */
export function loadSettings(path: string): HostSettings {
  const node = loadNode<Read>(path, Settings, named, ({ chain }) => chain.providerKey);
  const { loaded, accountSecret, near, json } = node;
  const { enclave, snpPolicies } = loaded;
  return {
    ...loaded,
    enclave: { ...enclave, ...(enclave.vendor !== undefined && { vendor: near(enclave.vendor) }) },
    providerSecret: accountSecret,
    snpPolicies: snpPoliciesOf(snpPolicies.map((file) => parseChainSnpPolicy(json(file)))),
  };
}
