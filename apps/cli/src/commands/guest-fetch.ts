/** `veritrain guest fetch | pack`: locked inputs of an image, or an image of a release; an image as a release. */
import { InvalidArgumentError, type Command } from 'commander';
import { fetchGuest, packRelease, type Flavour } from '#libs/guest';
import { fetchSigned } from '../guest/release.js';
import { printResult, table, type OutputOptions } from '../output.js';
import { sourcesOf, withFlavour, type SourceOptions } from './guest-sources.js';
import { publicKey } from './ids.js';

interface FetchOptions extends SourceOptions {
  readonly flavour: Flavour;
  readonly from?: string;
  readonly out?: string;
  readonly publicKey: readonly Uint8Array[];
  readonly oneBuilder?: boolean;
}

export function addFetch(guest: Command): void {
  withFlavour(
    guest
      .command('fetch')
      .argument('[tag]', 'a release; without it the locked inputs are fetched, for guest build')
      .description('fetch an image of a release, checked against its builders’ keys, or the locked inputs of one')
      .option('--from <place>', 'of a release: folder or https address of its OCI layout')
      .option('--out <folder>', 'of a release: where the image goes; after an interruption it is gone on with')
      .option('--public-key <hex>', 'Ed25519 key of a builder whose signature is demanded; repeat it', keys, [])
      .option('--one-builder', 'be content with one builder, for example yourself'),
  ).action(async (tag: string | undefined, options: FetchOptions) => {
    if (tag === undefined) return fetchInputs(options);
    const fetched = await fetchSigned({ tag, ...options, onProgress: sourcesOf(options).onProgress });
    printResult(options, fetched, () =>
      table([
        ['image', `${fetched.tag} ${fetched.flavour}, commit ${fetched.commit}`],
        ['builders', `${fetched.builders} signed the same`],
        ['launches', `${fetched.launches} measured again, all as stated`],
        ['manifest', fetched.manifest],
        ['folder', fetched.folder],
      ]),
    );
  });
  addPack(guest);
}

async function fetchInputs(options: FetchOptions): Promise<void> {
  const fetched = await fetchGuest(options.flavour, sourcesOf(options));
  printResult(options, fetched, () => table(fetched.inputs.map(({ name, path }) => [name, path] as const)));
}

function addPack(guest: Command): void {
  guest
    .command('pack')
    .argument('<folder>', 'an image of guest build')
    .description('add an image with its signed manifests to a release: an OCI layout that guest fetch reads')
    .requiredOption('--tag <name>', 'of the release')
    .requiredOption('--manifest <file...>', 'signed measurement manifests, one of each builder')
    .requiredOption('--out <folder>', 'of the layout')
    .option('--json', 'print one JSON document')
    .action((folder: string, options: OutputOptions & { tag: string; manifest: string[]; out: string }) => {
      const packed = packRelease(folder, options.manifest, options.tag, options.out);
      printResult(options, { ok: true, ...packed, folder: options.out }, () =>
        table([
          ['image', packed.name],
          ['digest', packed.digest],
          ['files', packed.files.join(' ')],
        ]),
      );
    });
}

/** @throws InvalidArgumentError */
function keys(text: string, before: readonly Uint8Array[]): readonly Uint8Array[] {
  if (before.length >= 8) throw new InvalidArgumentError('at most 8 keys');
  return [...before, publicKey(text)];
}
