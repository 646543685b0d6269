/** `veritrain log verify | monitor`, and the rest of `veritrain log`. */
import type { Command } from 'commander';
import { toHex } from '#attestation/base';
import type { LogEntry, TrustedCheckpoint, TrustPolicy } from '#attestation/log';
import { printResult, table, type OutputOptions } from '../output.js';
import { address, chained } from './log-anchors.js';
import { addLogAuditCommands } from './log-audit.js';
import { addLogEntryCommands } from './log-entries.js';
import { addJournalCommand } from './log-journal.js';
import { everySeconds, monitor, webhookUrl, type MonitorOptions } from './log-monitor.js';
import { verifiedEntry } from './log-verified.js';
import { publicKey } from './ids.js';

interface VerifyOptions extends OutputOptions {
  readonly entry: string;
  readonly logPolicy: string;
  readonly issuerKey?: Uint8Array;
}

export function addLogCommands(log: Command): void {
  log
    .command('verify')
    .argument('<proof>', 'a proof (tlog-proof)')
    .description('verify from files alone that an entry stands in a log that you trust, and who saw it there')
    .requiredOption('--entry <file>', 'the entry')
    .requiredOption('--log-policy <file>', 'the logs and witnesses that you trust (tlog-policy)')
    .option(
      '--issuer-key <hex>',
      'Ed25519 public key that must have signed the entry; else the one it names',
      publicKey,
    )
    .option('--json', 'print one JSON document')
    .action(async (file: string, options: VerifyOptions) => {
      const verified = await judgeFiles(file, options);
      printResult(options, verified, () => readable(verified));
      if (!verified.ok) process.exitCode = 1;
    });
  const monitoring = log
    .command('monitor')
    .description(
      'look over the logs of a trust policy: new entries, growth, and what concerns you; exit 2 alert, 3 fork',
    )
    .requiredOption('--log-policy <file>', 'the logs and witnesses that you trust, with addresses (tlog-policy)')
    .requiredOption('--state <folder>', 'what was seen so far; a fork leaves its evidence there')
    .option('--watch <file>', 'JSON: your watch keys by name, your log keys (issuers), your names, growsWithin')
    .option('--proof <file...>', 'tlog-proofs that you keep: what was proved has to be there still')
    .option('--every <seconds>', 'again and again; once where absent', everySeconds)
    .option('--webhook <url>', 'is sent each round that has alerts, as JSON', webhookUrl)
    .option('--sender <address>', 'the account that anchors for the log on chain', address)
    .option('--json', 'print one JSON document a round');
  chained(monitoring).action(async (options: MonitorOptions) => {
    process.exitCode = await monitor(options);
  });
  addLogEntryCommands(log);
  addJournalCommand(log);
  addLogAuditCommands(log);
}

/** @throws as verifiedEntry */
async function judgeFiles(proof: string, options: VerifyOptions) {
  const { ok, index, leaf, entry, trusted, policy } = await verifiedEntry({ ...options, proof });
  return { ok, index, leaf: toHex(leaf), ...entryJson(entry), ...checkpointJson(trusted, policy) };
}

function entryJson({ kind, issuer, kid, at, class: shown }: LogEntry) {
  return { kind, class: shown, issuer, kid: toHex(kid), at };
}

function checkpointJson({ checkpoint, sightings, witnessedAt, independent }: TrustedCheckpoint, policy: TrustPolicy) {
  const { origin, size, root } = checkpoint;
  return { origin, size, root: toHex(root), sightings, witnessedAt, independent, quorum: policy.quorum };
}

function readable(verified: Awaited<ReturnType<typeof judgeFiles>>): string {
  const { origin, index, size, kind, issuer, kid, at, sightings, witnessedAt, independent, quorum } = verified;
  const time = (seconds: number): string => new Date(seconds * 1000).toISOString();
  const seen = sightings.map((sighting) => `${sighting.witness} at ${time(sighting.at)}`).join(', ');
  const standing =
    quorum === null ? 'your policy asks for no witness: the log’s word alone' : `not by the quorum ${quorum}`;
  return table([
    ['log', `${origin}, entry ${index} of ${size}`],
    ['entry', `${kind}, ${time(at)} by its issuer ${issuer}, key ${kid}`],
    ['seen by', seen || 'no witness that you trust'],
    ['witnessed', witnessedAt === null ? standing : time(witnessedAt)],
    ['independent', `${independent.length}${independent.length > 0 ? `: ${independent.join(', ')}` : ''}`],
  ]);
}
