/** `veritrain dataset seal|inspect|list|delete`. */
import { join } from 'node:path';
import { InvalidArgumentError, type Command } from 'commander';
import { Rejection, to0x, toHex } from '#attestation/base';
import {
  datasetManifestBytesMax,
  datasetManifestJson,
  readDatasetManifest,
  type DatasetManifest,
} from '#attestation/records';
import { readBytes, sealFiles, shardPath, type SealRequest } from '#libs/client';
import { addRegisteredCommands } from '../dataset/registered.js';
import { printResult, table, type OutputOptions } from '../output.js';
import { showProgress } from '../progress.js';

type SealOptions = SealRequest & OutputOptions;

export function addDatasetCommands(program: Command): void {
  const dataset = program.command('dataset').description('seal a data set for training, look at a sealed one');
  dataset
    .command('seal')
    .description('shuffle, block, commit and encrypt a data set into shards; writes dataset.json and the data key')
    .requiredOption('--manifest <file>', 'fxt/1 manifest: batch, superblock, widths and the shuffle seed')
    .requiredOption('--images <file>', 'IDX file of unsigned bytes')
    .requiredOption('--labels <file>', 'IDX file of labels')
    .requiredOption('--out <folder>', 'where shards and dataset.json go; give this to the control plane')
    .requiredOption('--key <file>', 'where the data key goes (mode 600); give this to your key broker alone')
    .option(
      '--provable',
      'commit in the form that step proofs open; takes about half a second for every 10,000 records',
    )
    .option('--groth16', 'commit besides in the form that Groth16 proofs open; small models alone')
    .option('--records-max <n>', 'seal at most so many records, taken after the shuffle', wholeNumber)
    .option('--json', 'print one JSON document')
    .action(async (options: SealOptions) => print(await sealFiles(options, showProgress(options)), options));
  dataset
    .command('inspect')
    .argument('<folder>', 'a sealed data set')
    .description('check a sealed data set and say what it holds')
    .option('--json', 'print one JSON document')
    .action((folder: string, options: OutputOptions) => inspect(folder, options));
  addRegisteredCommands(dataset);
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('a whole number of at least 1');
  return Number(text);
}

async function inspect(folder: string, options: OutputOptions): Promise<void> {
  const manifest = readDatasetManifest(readBytes(join(folder, 'dataset.json'), datasetManifestBytesMax));
  for (const [index, shard] of manifest.shards.entries()) {
    const ciphertext = readBytes(shardPath(folder, index), shard.bytes);
    const digest = toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', ciphertext as Uint8Array<ArrayBuffer>)));
    if (ciphertext.length === shard.bytes && digest === toHex(shard.sha256)) continue;
    throw new Rejection('SHARD_DIGEST', {
      expected: `shard ${index} with SHA-256 ${toHex(shard.sha256)}`,
      got: digest,
      rule: 'attestation/SPEC.md, dataset manifest',
      action: 'copy the shard again or seal the data set again',
    });
  }
  print(manifest, options);
}

function print(manifest: DatasetManifest, options: OutputOptions): void {
  printResult(options, datasetManifestJson(manifest), () =>
    table([
      ['data set', to0x(manifest.id)],
      ['root', to0x(manifest.root)],
      ['records', `${manifest.records} of ${manifest.features} features, ${manifest.classes} classes`],
      ['blocks', `batch ${manifest.batch}, superblock ${manifest.superblock}`],
      ['shards', `${manifest.shards.length}, ${manifest.shards.reduce((sum, shard) => sum + shard.bytes, 0)} bytes`],
    ]),
  );
}
