/** What the settings of every node share: one JSON file, paths relative to it, each secret in a file of its own. */
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { ConfigurationError, fromHex } from '#attestation/base';
import { type Windows } from '#attestation/records';
import { ApiKeyText } from '#libs/wire';
import { Dispatch, readDispatch, type DispatchSettings } from './dispatch-settings.js';

const Wei = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,38})$/)
  .transform(BigInt);
export const HttpUrl = z.url({ protocol: /^https?$/ });
/** 0x-hexadecimal. */
export const AccountText = z.string().regex(/^0x[0-9a-f]{40}$/);
export const Seconds = z
  .int()
  .min(1)
  .max(2 ** 32 - 1);

/** What the operator sees: lines of this level and above, and where metrics and health are answered; absent: nowhere. */
const watchSettings = {
  logLevel: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  health: z
    .strictObject({ host: z.string().min(1).max(253).default('127.0.0.1'), port: z.int().min(0).max(65_535) })
    .optional(),
};

/** How long a key broker that is away or busy is waited for while a lease is held. */
const BrokerWaitSeconds = z.int().min(1).max(86_400).default(900);

export const ControlPlaneSettings = z.strictObject({
  /** One, or one for every replica. */
  url: z.union([HttpUrl, z.array(HttpUrl).min(1).max(16)]),
  dispatch: Dispatch,
  apiKey: ApiKeyText,
  /** How long one attempt waits for an answer. */
  answerSeconds: z.int().min(1).max(600).default(30),
});

/** Members of every node's settings, beside `chain` and `escrow`. */
export const nodeSettings = {
  name: z.string().min(1).max(64),
  controlPlane: ControlPlaneSettings,
  /** Origins of the key brokers that this node asks; absent: any over https, or on this machine. */
  brokers: z.array(HttpUrl).optional(),
  brokerWaitSeconds: BrokerWaitSeconds,
  /**
   * File with 32 bytes as 0x-hexadecimal, the same on every machine of the provider: its half of the keys of checkpoints. A
   * prover that has a host's goes on and proves where that host's enclave has trained. Absent: derived from the secret of the
   * account that is paid.
   */
  hostSecret: z.string().optional(),
  ...watchSettings,
  /** Jobs on their way to being paid. */
  dataDirectory: z.string(),
};

/** Members of `chain` in every node's settings. @param deployment  schema of the deployment file (libs/settlement) */
export function chainSettings<D extends z.ZodType>(deployment: D) {
  return {
    rpcUrl: HttpUrl,
    pollingMs: z.int().min(10).max(60_000).default(1000),
    confirmations: z.int().min(1).max(1000).default(1),
    /** Most that one unit of gas may cost; absent: as the kind of the chain has it. */
    feePerGasMaxWei: Wei.optional(),
    deployment,
  };
}

/** The greatest windows of these settings, as termsFit takes them. */
export function greatestWindows({
  windowMaxSeconds: most,
  computeMaxSeconds: compute,
}: WindowLimits): Partial<Windows> {
  const answers = { start: most, finality: most, draw: most, challenge: most, reveal: most, ack: most };
  return { ...answers, prove: most, provePer: most, hold: most, compute };
}

interface WindowLimits {
  readonly windowMaxSeconds: number;
  readonly computeMaxSeconds: number;
}

/** Members of `escrow` in every node's settings: what terms it works under, before they cost money. */
export const escrowLimits = {
  priceMinWei: Wei.default(1n),
  /** Most that one job may lock; a node takes out free stake beyond it when a job has ended. */
  stakeMaxWei: Wei.default(10n ** 18n),
  /** Least that a wrong challenge pays above the bond's fee: the proof that answers it costs gas. */
  answerMinWei: Wei.default(1n),
  computeMinSeconds: Seconds.default(3600),
  /** Greatest of every window but that to compute: a longer one would lock stake and pay. */
  windowMaxSeconds: Seconds.default(7 * 86_400),
  computeMaxSeconds: Seconds.default(30 * 86_400),
  /** In which the provers at hand prove one segment: windows for proofs must leave room for two. */
  proofSeconds: Seconds.default(30),
  /** Tokens beside the native coin; amounts count in their smallest unit. */
  tokens: z.array(AccountText).default([]),
  /** At which this node trains; windows to compute must leave room for two runs. Absent: as a slow machine. */
  multiplyAddsPerSecond: z.number().min(1).optional(),
};

export interface ControlPlaneAddress {
  readonly urls: readonly string[];
  readonly dispatch: DispatchSettings;
  readonly apiKey: string;
  readonly answerSeconds: number;
}

interface WithControlPlane {
  readonly controlPlane: z.infer<typeof ControlPlaneSettings>;
}

interface NodeSettings<T> {
  readonly settings: T;
  readonly controlPlane: ControlPlaneAddress;
  /** Makes a path of the settings absolute. */
  near(file: string): string;
  /** What a file that the settings name holds. */
  json(file: string): unknown;
  /** 32 bytes as 0x-hexadecimal out of a file. */
  secret(file: string): string;
}

/**
 * What the host's halves of checkpoint keys follow from, the same on every machine of a provider: the settings' own secret, or
 * one derived from that of the account that is paid.
 * @param secret  of the account, 0x-hexadecimal
 * @param own     0x-hexadecimal
 */
export function hostRoot(secret: string, own: string | undefined): Uint8Array {
  if (own !== undefined) return fromHex(own);
  const derived = createHmac('sha256', fromHex(secret)).update('veritrain/host-root/1').digest();
  return new Uint8Array(derived);
}

/**
 * @param named  how a failure is called, and where what is expected stands
 * @throws ConfigurationError of that name with the field, or the file that cannot be read; never with a secret
 */
export function readSettings<T extends WithControlPlane>(
  path: string,
  schema: z.ZodType<T>,
  named: { readonly code: string; readonly rule: string },
): NodeSettings<T> {
  const invalid = (expected: string, got: string, action?: string): ConfigurationError =>
    new ConfigurationError(named.code, { expected, got, rule: named.rule, ...(action !== undefined && { action }) });
  const near = (file: string): string => resolve(dirname(path), file);
  const text = (file: string, what: string): string => {
    try {
      return readFileSync(file, 'utf8');
    } catch (error) {
      throw invalid(`${file}: ${what}`, error instanceof Error ? error.message : 'an error');
    }
  };
  const result = schema.safeParse(parse(text(path, 'a readable JSON document')));
  if (!result.success) {
    const issue = result.error.issues[0]!;
    throw invalid(`${path}: ${issue.message}`, issue.path.join('.'));
  }
  const settings = result.data;
  const { url, dispatch, apiKey, answerSeconds } = settings.controlPlane;
  const read = (file: string): string => text(near(file), 'a readable file');
  return {
    settings,
    controlPlane: {
      urls: Array.isArray(url) ? url : [url],
      dispatch: readDispatch(dispatch, read, invalid),
      apiKey,
      answerSeconds,
    },
    near,
    json: (file) => parse(read(file)),
    secret(file) {
      const content = read(file).trim();
      if (/^0x[0-9a-f]{64}$/.test(content)) return content;
      throw invalid(`${near(file)}: 32 bytes as 0x-hexadecimal`, `${content.length} characters`);
    },
  };

  function parse(content: string): unknown {
    try {
      return JSON.parse(content);
    } catch (error) {
      throw invalid(`${path}: a readable JSON document`, error instanceof Error ? error.message : 'an error');
    }
  }
}

interface WithCommon extends WithControlPlane {
  readonly hostSecret?: string | undefined;
  readonly dataDirectory: string;
}

export type Loaded<T> = Omit<T, 'controlPlane' | 'dataDirectory' | 'hostSecret'> & {
  readonly controlPlane: ControlPlaneAddress;
  readonly dataDirectory: string;
  /** What the host's halves of the keys of checkpoints follow from. */
  readonly hostRoot: Uint8Array;
};

/**
 * The settings of a node, with what their files hold in place of paths.
 *
 * @param accountKey  names the file with the secret of the account that is paid
 * @throws as readSettings
 */
export function loadNode<T extends WithCommon>(
  path: string,
  schema: z.ZodType<T>,
  named: { readonly code: string; readonly rule: string },
  accountKey: (settings: T) => string,
): Pick<NodeSettings<T>, 'near' | 'json'> & { readonly loaded: Loaded<T>; readonly accountSecret: string } {
  const { settings, controlPlane, near, json, secret } = readSettings(path, schema, named);
  const { controlPlane: _, dataDirectory, hostSecret, ...others } = settings;
  const accountSecret = secret(accountKey(settings));
  const root = hostRoot(accountSecret, hostSecret === undefined ? undefined : secret(hostSecret));
  const loaded = { ...others, controlPlane, dataDirectory: near(dataDirectory), hostRoot: root };
  return { loaded, accountSecret, near, json };
}
