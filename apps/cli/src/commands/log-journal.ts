/** `veritrain log import-journal`: commits, once, to every line of a journal from before it was chained to a log. */
import { createHash, hkdfSync } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { ConfigurationError, fromUtf8, toHex, utf8 } from '#attestation/base';
import {
  entryBytesMax,
  leafHash,
  makeSealedEntry,
  openingBytesMax,
  treeRoot,
  type EntryBody,
  type Opening,
  type TrustPolicy,
} from '#attestation/log';
import { readTrustPolicy } from '#libs/client/judging';
import { readBytes, readSecret, writeWhole } from '#libs/client/files';
import { readEntriesOf, submitEntry } from '#libs/log';
import { printResult, table } from '../output.js';
import { signed } from './log-entries.js';
import { issuerOf, logUrl, waitMs, type SignedOptions } from './log-publish.js';

interface ImportOptions extends SignedOptions {
  readonly out: string;
}

const journalBytesMost = 512 * 1024 * 1024;
const lineFeed = 0x0a;

export function addJournalCommand(log: Command): void {
  signed(
    log
      .command('import-journal')
      .argument('<file>', 'a journal or an audit log, one line an entry')
      .description('log a commitment to every line of a journal; single lines can be shown later')
      .requiredOption('--out <file>', 'where the entry is written; its proof and opening beside it'),
  ).action(async (file: string, options: ImportOptions) => {
    const shown = await importJournal(file, options);
    printResult(options, shown, () => table(Object.entries(shown).map(([name, value]) => [name, `${value}`])));
  });
}

/** An entry that is there is submitted again: the log gives the same bytes the same leaf, so nothing is logged twice. */
async function importJournal(file: string, options: ImportOptions) {
  const policy = readTrustPolicy(options.logPolicy);
  const body = bodyOf(readBytes(file, journalBytesMost));
  if (existsSync(options.out)) requireSame(options.out, body);
  else await make(options, body, policy);
  const entry = readBytes(options.out, entryBytesMax);
  const { text, index } = await submitEntry(logUrl(policy), entry, policy, { wait: 'witnessed', withinMs: waitMs });
  writeWhole(`${options.out}.proof`, text);
  const { lines, bytes, root } = body;
  return { index, lines, bytes, root: toHex(root), file: toHex(body.file) };
}

/** The opening first: an entry without one could be opened by nobody. */
async function make(options: ImportOptions, body: EntryBody<'journal-import'>, policy: TrustPolicy): Promise<void> {
  const issuer = issuerOf(options);
  const secret = readSecret(options.key);
  const entryOf = (at: number) =>
    makeSealedEntry(issuer, 'journal-import', body, { at, watchKeys: [], random: drawnFrom(secret, body.file) });
  const logged = await readEntriesOf({ url: logUrl(policy), policy, key: issuer.publicKey }, 0);
  let made = await entryOf(Math.floor(Date.now() / 1000));
  for (const { leaf, at } of logged.filter(({ kind }) => kind === 'journal-import')) {
    const former = await entryOf(at);
    if (toHex(leafHash(former.entry)) === leaf) made = former;
  }
  writeOpening(`${options.out}.opening`, made.opening, body);
  writeWhole(options.out, made.entry);
}

/** The same for one journal under one key, so that an entry whose files are lost is known again, and nobody else can open it. */
function drawnFrom(secret: Uint8Array, file: Uint8Array): (size: number) => Uint8Array {
  let turn = 0;
  return (size) =>
    new Uint8Array(hkdfSync('sha256', secret, file, utf8(`veritrain log journal-import/1 ${turn++}`), size));
}

function writeOpening(path: string, { salt, body: encoded }: Opening, body: EntryBody<'journal-import'>): void {
  const shown = { lines: body.lines, bytes: body.bytes, file: toHex(body.file), root: toHex(body.root) };
  writeWhole(path, JSON.stringify({ salt: toHex(salt), body: toHex(encoded), ...shown }), 0o600);
}

/** @throws ConfigurationError LOG_JOURNAL where the file that was imported was another */
function requireSame(out: string, { file }: EntryBody<'journal-import'>): void {
  const opening = fromUtf8(readBytes(`${out}.opening`, 4 * openingBytesMax));
  const { file: former } = JSON.parse(opening) as { file?: unknown };
  if (former === toHex(file)) return;
  throw new ConfigurationError('LOG_JOURNAL', {
    expected: `the journal that was imported, SHA-256 ${String(former)}`,
    got: toHex(file),
    rule: 'apps/cli/README.md',
    action: 'import another journal under another --out; one that grew since is chained by itself',
  });
}

/** `root`: RFC 6962 over the lines, without their line feeds; a last line without one counts. */
function bodyOf(journal: Uint8Array): EntryBody<'journal-import'> {
  const leaves: Uint8Array[] = [];
  for (let from = 0; from < journal.length;) {
    const end = journal.indexOf(lineFeed, from);
    const to = end < 0 ? journal.length : end;
    leaves.push(leafHash(journal.subarray(from, to)));
    from = to + 1;
  }
  const file = new Uint8Array(createHash('sha256').update(journal).digest());
  return { lines: leaves.length, bytes: journal.length, file, root: treeRoot(leaves) };
}
