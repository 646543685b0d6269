/** `veritrain guest manifest | verify`. */
import type { Command } from 'commander';
import * as ed25519 from '@noble/ed25519';
import { signGuestManifest } from '#attestation';
import { ed25519Signer, toHex } from '#attestation/base';
import { readSecret, writeWhole } from '#libs/client/files';
import { manifestOf, verifyManifestFile } from '../guest/manifest.js';
import { printResult, table, wholeNumber, type OutputOptions } from '../output.js';
import { checkLogged, withLogged, type LoggedOptions } from './log-verified.js';
import { imageBodies, publishing, publishMade, type PublishOptions } from './log-publish.js';
import { sourcesOf, withSources, type SourceOptions } from './guest-sources.js';
import { publicKey } from './ids.js';

interface MakeOptions extends OutputOptions, PublishOptions {
  readonly tag: string;
  readonly commit?: string;
  readonly svn: number;
  readonly idKey?: string;
  readonly authorKey?: string;
  readonly key: string;
  readonly out: string;
}

interface VerifyOptions extends SourceOptions, LoggedOptions {
  readonly publicKey: Uint8Array;
  readonly firmware?: string;
  readonly rebuild?: boolean;
}

export function addManifestCommands(guest: Command): void {
  publishing(
    guest
      .command('manifest')
      .argument('<folder>', 'an image of guest build')
      .description('measure every launch of an image and sign what it is')
      .requiredOption('--tag <name>', 'of the release')
      .option('--commit <hex>', 'of the sources; else that of this clone')
      .option('--svn <n>', 'security version of the guest; grows with every security release', wholeNumber, 1)
      .option('--id-key <file>', 'PEM of a P-384 key that signs launches')
      .option('--author-key <file>', 'PEM of a P-384 key that signs the ID key')
      .requiredOption('--key <file>', 'Ed25519 secret key of the publisher: 32 bytes as 0x-hexadecimal')
      .requiredOption('--out <file>', 'where the signed manifest is written')
      .option('--json', 'print one JSON document'),
  ).action(async (folder: string, options: MakeOptions) => {
    const manifest = await manifestOf(folder, options);
    const secret = readSecret(options.key);
    const publisher = await ed25519.getPublicKeyAsync(secret);
    writeWhole(options.out, await signGuestManifest(manifest, publisher, ed25519Signer(secret)));
    const logged = await publishMade(options, options.key, options.out, imageBodies(manifest));
    const result = { ok: true, file: options.out, publicKey: toHex(publisher), manifest, logged };
    printResult(options, result, () =>
      table([
        ['image', `${manifest.tag} ${manifest.flavour}, commit ${manifest.commit}`],
        ['launches', `${manifest.launch.length}`],
        ['signed by', toHex(publisher)],
        ['file', options.out],
        ...logged.map(({ index, entry }) => ['logged', `image at ${index}: ${entry}`] as const),
      ]),
    );
  });
  addVerify(guest);
}

function addVerify(guest: Command): void {
  const verify = guest
    .command('verify')
    .argument('<manifest>', 'a signed measurement manifest')
    .description('verify its signature, measure every launch again, and build the image again on demand')
    .requiredOption('--public-key <hex>', 'Ed25519 public key of the publisher', publicKey)
    .option('--firmware <file>', 'the firmware that it names; a rebuild brings it')
    .option('--rebuild', 'build the image from this clone, which must be at the commit, and compare');
  withSources(withLogged(verify)).action(async (file: string, options: VerifyOptions) => {
    const verified = await verifyManifestFile(file, { ...options, sources: sourcesOf(options) });
    const { ok, manifest, launches, rebuilt } = verified;
    const pins = manifest.launch.map(({ measurement }) => ({ kind: 'snp', value: measurement }));
    const logged = await checkLogged(pins, options, false);
    printResult(options, { ...verified, logged }, () =>
      table([
        ['image', `${manifest.tag} ${manifest.flavour}, commit ${manifest.commit}`],
        ['signature', 'by that key'],
        ['launches', `${launches} measured again, all as stated`],
        ['logged', logged === null ? 'not looked at: --log-policy' : `all ${logged} launches`],
        ['rebuilt', rebuilt === null ? 'no' : rebuilt.equal ? 'equal bytes' : `differs: ${rebuilt.differs.join(', ')}`],
      ]),
    );
    if (!ok) process.exitCode = 1;
  });
}
