/** The host operator's settings: where to work, for whose account, with which enclave. */
import { z } from 'zod';
import {
  chainSettings,
  type ControlPlaneAddress,
  ControlPlaneSettings,
  escrowLimits,
  HttpUrl,
  readSettings,
  Seconds,
} from '#libs/dispatch-client';
import { DeploymentJson } from '#libs/settlement';

/** What terms this host works under; anything else is refused before it costs money (checkTerms). */
const Escrow = z.strictObject({
  ...escrowLimits,
  /** Most of the stake that a run that never comes may cost, in hundredths of a percent. */
  livenessMaxBps: z.int().min(0).max(10_000).default(2000),
  /** Tokens beside the native coin, 0x-hexadecimal; amounts count in their smallest unit. */
  tokens: z.array(z.string().regex(/^0x[0-9a-f]{40}$/)).default([]),
  /** Jobs that are paid when their steps are proved besides: where provers are at hand that the data owners name. */
  acceptProved: z.boolean().default(false),
  startMinSeconds: Seconds.default(600),
  ackMinSeconds: Seconds.default(600),
  revealMinSeconds: Seconds.default(1800),
});

const Settings = z.strictObject({
  name: z.string().min(1).max(64),
  controlPlane: ControlPlaneSettings,
  chain: z.strictObject({
    ...chainSettings(DeploymentJson),
    /** secp256k1 secret of the account that is paid; file with 32 bytes hex. */
    providerKey: z.string(),
  }),
  escrow: Escrow.prefault({}),
  /** Origins of the key brokers that this host asks; absent: any over https, or on this machine. */
  brokers: z.array(HttpUrl).optional(),
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
  /** Results on their way to being paid. */
  dataDirectory: z.string(),
});

type Read = z.infer<typeof Settings>;

export type HostSettings = Omit<Read, 'controlPlane'> & {
  readonly providerSecret: string;
  readonly controlPlane: ControlPlaneAddress;
};

/** @throws ConfigurationError HOST_SETTINGS naming the field, or the file that cannot be read */
export function loadSettings(path: string): HostSettings {
  const named = { code: 'HOST_SETTINGS', rule: 'host agent settings' };
  const { settings, controlPlane, near, secret } = readSettings<Read>(path, Settings, named);
  const { vendor } = settings.enclave;
  return {
    ...settings,
    controlPlane,
    enclave: { ...settings.enclave, ...(vendor !== undefined && { vendor: near(vendor) }) },
    dataDirectory: near(settings.dataDirectory),
    providerSecret: secret(settings.chain.providerKey),
  };
}
