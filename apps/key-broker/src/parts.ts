/** What the routes are made of. */
import { fromHex, signRecoverable } from '#attestation/base';
import { domainSeparator, revocationDigest } from '#attestation/records';
import { createBrokerMetrics, createLogger, type BrokerMetrics, type Logger } from '#libs/telemetry';
import { createAppraiser } from './appraiser.js';
import type { BrokerConfig, SpeakerConfig } from './config.js';
import { openJournal, type Journal } from './journal.js';
import { noJournalHeads, openJournalHeads, type JournalHeads } from './journal-heads.js';
import type { JudgeParts } from './judge.js';
import { createNonceStore } from './nonces.js';
import { createObserver, type Observer } from './observe.js';
import { openResultStore } from './result-store.js';
import { createResults, type Results } from './results.js';
import { openSessionStore, type RevocationSigner } from './sessions.js';

export const PARTS = Symbol('parts');
export const BROKER = Symbol('broker');
export const ATTESTOR = Symbol('attestor');

export interface Parts extends JudgeParts {
  readonly results: Results;
  readonly observer: Observer;
  readonly metrics: BrokerMetrics;
  readonly logger: Logger;
}

/** @throws ConfigurationError BROKER_JOURNAL_CUT, BROKER_CONFIG */
export async function createJudgeParts<C extends SpeakerConfig>(
  config: C,
): Promise<JudgeParts & { readonly config: C }> {
  const journal = openJournal(config.journal);
  const sessions = openSessionStore(journal, revocationSigner(config));
  const heads = headsOf(config, journal);
  return { config, journal, heads, sessions, nonces: createNonceStore(), appraiser: await createAppraiser(config) };
}

function headsOf(
  config: SpeakerConfig & Partial<Pick<BrokerConfig, 'ownEntries' | 'dataKey'>>,
  journal: Journal,
): JournalHeads {
  const { ownEntries, dataKey } = config;
  if (ownEntries === undefined || dataKey === undefined) return noJournalHeads;
  return openJournalHeads(journal, ownEntries, (id) => config.dataKey?.(id) ?? null);
}

export async function createParts<C extends SpeakerConfig>(config: C): Promise<Parts & { readonly config: C }> {
  const judging = await createJudgeParts(config);
  const { journal }: { journal: Journal } = judging;
  const store = openResultStore(config.results, config.resultsBytesMax);
  const metrics = createBrokerMetrics();
  const logger = createLogger(config.attestOnly ? 'attestor' : 'key-broker', config.logLevel);
  const observer = createObserver(logger, metrics);
  return { ...judging, results: createResults({ config, store, journal }), observer, metrics, logger };
}

function revocationSigner({ settlement, signingSecret }: SpeakerConfig): RevocationSigner {
  const domain = domainSeparator({ chainId: settlement.chainId, verifyingContract: settlement.contract });
  return (job, key, reason) =>
    signRecoverable(revocationDigest(domain, fromHex(job), fromHex(key), reason), signingSecret);
}
