/** `veritrain advisories check | sign | verify`. */
import * as ed25519 from '@noble/ed25519';
import type { Command } from 'commander';
import { documentDigest, parseAdvisories, signAdvisories, verifyAdvisories, type Advisories } from '#attestation';
import { ed25519Signer, fromUtf8, toHex } from '#attestation/base';
import { readBytes, readSecret, writeWhole } from '#libs/client/files';
import { printResult, table, type OutputOptions } from '../output.js';
import { floorsBody, publishing, publishMade, type PublishOptions } from './log-publish.js';
import { publicKey } from './ids.js';

const fileBytesMax = 1024 * 1024;

export function addAdvisoryCommands(advisories: Command): void {
  advisories
    .command('check')
    .argument('<file>', 'advisories as JSON')
    .description('read advisories strictly and list them')
    .option('--json', 'print one JSON document')
    .action((file: string, options: OutputOptions) => print(options, readAdvisories(file), {}));
  publishing(
    advisories
      .command('sign')
      .argument('<file>', 'advisories as JSON')
      .description('sign advisories: COSE_Sign1 with Ed25519 over their deterministic encoding')
      .requiredOption('--key <file>', 'Ed25519 secret key: 32 bytes as 0x-hexadecimal')
      .requiredOption('--out <file>', 'where the signed document is written')
      .option('--json', 'print one JSON document'),
  ).action(async (file: string, options: OutputOptions & PublishOptions & { key: string; out: string }) => {
    const read = readAdvisories(file);
    const secret = readSecret(options.key);
    const signer = await ed25519.getPublicKeyAsync(secret);
    writeWhole(options.out, await signAdvisories(read, signer, ed25519Signer(secret)));
    const logged = await publishMade(options, options.key, options.out, [floorsBody(read)]);
    const place = logged.map(({ index, entry }) => ({ logged: `at ${index}: ${entry}` }));
    print(options, read, { publicKey: toHex(signer), file: options.out, ...place[0] });
  });
  advisories
    .command('verify')
    .argument('<file>', 'signed advisories')
    .description('verify the signature of advisories and list them')
    .requiredOption('--public-key <hex>', 'Ed25519 public key of the signer', publicKey)
    .option('--json', 'print one JSON document')
    .action(async (file: string, options: OutputOptions & { publicKey: Uint8Array }) => {
      print(options, await verifyAdvisories(readBytes(file, fileBytesMax), options.publicKey), {});
    });
}

/** @throws ConfigurationError FILE_*; Rejection DOCUMENT_* */
function readAdvisories(file: string): Advisories {
  return parseAdvisories(fromUtf8(readBytes(file, fileBytesMax)));
}

function print(options: OutputOptions, document: Advisories, more: Readonly<Record<string, string>>): void {
  const { id, issued, advisories } = document;
  const summary = { id, issued: `${issued}`, digest: documentDigest(document), ...more };
  printResult(options, { ok: true, ...summary, advisories }, () => {
    const rows = advisories.map(
      ({ id: name, effect, severity, standing, title }) =>
        [name, `${effect}, ${severity}, ${standing}: ${title}`] as const,
    );
    return `${table(Object.entries(summary))}\n\n${table(rows)}`;
  });
}
