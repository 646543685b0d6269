/**
 * What is safe on which kind of chain: contracts/SPEC.md §19. Terms, deployments and clients take their defaults from
 * here alone.
 */
import { ConfigurationError } from '#attestation/base';

export const chainKinds = ['local', 'opStack', 'arbitrum', 'l1'] as const;
export type ChainKind = (typeof chainKinds)[number];

/** A window that grows with the run that it covers. */
interface GrowingWindow {
  readonly leastSeconds: number;
  /** In lengths of the run; 0: it does not grow. */
  readonly runs: number;
}

export interface ChainSettings {
  /** Block at which client and host take a state for granted. */
  readonly actsAt: 'latest' | 'finalized';
  /** Seconds between a commit and the first draw. */
  readonly finality: number;
  /** Of the windows start, ack and reveal. */
  readonly answer: number;
  readonly compute: GrowingWindow;
  readonly challengeSealed: number;
  readonly challengeUnsealed: GrowingWindow;
  readonly prove: number;
  /** provePer, in lengths of one proof as the bench measured it. */
  readonly proofsPerSegment: number;
  /**
   * null: no sampled job, since the chain's BLOCKHASH is not the hash of a header. The fallback block comes when the client's
   * time to draw ends: of an earlier one the hash may be forgotten by then, and what takes its place is another try.
   */
  readonly sample: { readonly draw: number; readonly drawBlocks: number } | null;
  /** What is asked for where the key broker is not the client's own. */
  readonly attestation: { readonly needed: number; readonly withSnpPolicy: 'none' | 'instead' | 'oneLess' };
  /** In ten-thousandths of the price. */
  readonly stakeBps: number;
  readonly livenessBps: number;
  /** Most that a unit of gas may cost where nobody says otherwise: far above what blocks ask when they are full. */
  readonly feePerGasMaxWei: bigint;
  /** Of the window hold, where proofs pay. */
  readonly hold: number;
  /** How long before the end of `reveal` the host must have shown the key. */
  readonly revealMargin: { readonly leastSeconds: number; readonly divisor: number };
  /** What the constructor of TermsRules takes: least lengths of every window that a job uses, of finality, of drawBlocks. */
  readonly floors: { readonly window: number; readonly finality: number; readonly drawBlocks: number };
}

const minute = 60;
const hour = 60 * minute;
const gwei = 10n ** 9n;

/** The same on every chain on which something is at stake. */
const valuable = {
  actsAt: 'finalized',
  proofsPerSegment: 4,
  livenessBps: 500,
  hold: 24 * hour,
  revealMargin: { leastSeconds: minute, divisor: 4 },
} as const;

export const chainSettings: Readonly<Record<ChainKind, ChainSettings>> = {
  local: {
    actsAt: 'latest',
    finality: 0,
    answer: hour,
    compute: { leastSeconds: 24 * hour, runs: 3 },
    challengeSealed: 2,
    challengeUnsealed: { leastSeconds: 2, runs: 0 },
    prove: hour,
    proofsPerSegment: 4,
    sample: { draw: hour, drawBlocks: 32 },
    attestation: { needed: 0, withSnpPolicy: 'none' },
    stakeBps: 5_000,
    livenessBps: 500,
    feePerGasMaxWei: 2_000n * gwei,
    hold: 0,
    revealMargin: { leastSeconds: minute, divisor: 0 },
    floors: { window: 1, finality: 0, drawBlocks: 1 },
  },
  opStack: {
    ...valuable,
    finality: hour,
    answer: 24 * hour,
    compute: { leastSeconds: 24 * hour, runs: 3 },
    challengeSealed: 12 * hour,
    challengeUnsealed: { leastSeconds: 24 * hour, runs: 2 },
    prove: 24 * hour,
    sample: { draw: 12 * hour, drawBlocks: 23_400 },
    attestation: { needed: 1, withSnpPolicy: 'instead' },
    stakeBps: 10_000,
    feePerGasMaxWei: 500n * gwei,
    floors: { window: hour, finality: hour, drawBlocks: 2_700 },
  },
  arbitrum: {
    ...valuable,
    finality: hour,
    answer: 36 * hour,
    compute: { leastSeconds: 24 * hour, runs: 3 },
    challengeSealed: 24 * hour,
    challengeUnsealed: { leastSeconds: 24 * hour, runs: 2 },
    prove: 36 * hour,
    sample: null,
    attestation: { needed: 1, withSnpPolicy: 'instead' },
    stakeBps: 10_000,
    feePerGasMaxWei: 500n * gwei,
    floors: { window: hour, finality: hour, drawBlocks: 1 },
  },
  l1: {
    ...valuable,
    finality: 20 * minute,
    answer: 24 * hour,
    compute: { leastSeconds: 24 * hour, runs: 3 },
    challengeSealed: 24 * hour,
    challengeUnsealed: { leastSeconds: 72 * hour, runs: 2 },
    prove: 24 * hour,
    sample: { draw: 24 * hour, drawBlocks: 7_300 },
    attestation: { needed: 2, withSnpPolicy: 'oneLess' },
    stakeBps: 20_000,
    feePerGasMaxWei: 2_000n * gwei,
    floors: { window: 6 * hour, finality: 20 * minute, drawBlocks: 64 },
  },
};

/** Seconds of a window that covers a run of `runSeconds`. */
export function windowOf({ leastSeconds, runs }: GrowingWindow, runSeconds: number): number {
  return Math.max(leastSeconds, Math.ceil(runs * runSeconds));
}

/** Seconds before the end of `reveal` from which on the key is no longer shown. */
export function revealMarginOf({ revealMargin }: ChainSettings, revealSeconds: number): number {
  const share = revealMargin.divisor === 0 ? 0 : Math.floor(revealSeconds / revealMargin.divisor);
  return Math.max(revealMargin.leastSeconds, share);
}

const kindOf: Readonly<Record<number, ChainKind>> = {
  ...{ 1337: 'local', 31337: 'local' },
  ...{ 1: 'l1', 11155111: 'l1', 560048: 'l1' },
  ...{ 10: 'opStack', 8453: 'opStack', 11155420: 'opStack', 84532: 'opStack' },
  ...{ 42161: 'arbitrum', 42170: 'arbitrum', 421614: 'arbitrum' },
};

/**
 * @param named  what somebody says of a chain that is not in the table
 * @throws ConfigurationError CHAIN_KIND where neither knows, or both know otherwise
 */
export function chainKindOf(chainId: number, named?: ChainKind): ChainKind {
  const known = kindOf[chainId];
  if (named !== undefined && (known === undefined || known === named)) return named;
  if (named === undefined && known !== undefined) return known;
  throw new ConfigurationError('CHAIN_KIND', {
    expected: `${known ?? chainKinds.join(', ')} for chain ${chainId}`,
    got: named ?? 'nothing',
    rule: 'contracts/SPEC.md §19',
    action: 'say with --chain-kind which kind of chain it is',
  });
}
