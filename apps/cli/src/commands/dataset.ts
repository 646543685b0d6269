/** `veritrain dataset seal|inspect`. */
import { join } from 'node:path';
import type { Command } from 'commander';
import {
  datasetManifestBytesMax,
  datasetManifestJson,
  readDatasetManifest,
  Rejection,
  toHex,
  type DatasetManifest,
} from '#attestation';
import { checkLabels, parseIdxImages, parseIdxLabels, parseManifest, type Manifest } from '#libs/step';
import { shardPath } from '../dataset/files.js';
import { sealDataset } from '../dataset/seal.js';
import { readBytes, readJson, writeWhole } from '../files.js';
import { log, printResult, table, type OutputOptions } from '../output.js';

const idxBytesMax = 2 ** 31;

interface SealOptions extends OutputOptions {
  readonly manifest: string;
  readonly images: string;
  readonly labels: string;
  readonly out: string;
  readonly key: string;
}

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
    .option('--json', 'print one JSON document')
    .action(async (options: SealOptions) => {
      await seal(options);
    });
  dataset
    .command('inspect')
    .argument('<folder>', 'a sealed data set')
    .description('check a sealed data set and say what it holds')
    .option('--json', 'print one JSON document')
    .action((folder: string, options: OutputOptions) => inspect(folder, options));
}

export async function seal(options: SealOptions): Promise<DatasetManifest> {
  const m = parseManifest(readJson(options.manifest));
  const images = parseIdxImages(readBytes(options.images, idxBytesMax));
  const labels = parseIdxLabels(readBytes(options.labels, idxBytesMax));
  checkLabels(labels, m.dims.at(-1)!);
  checkWidth(m, images.pixels);
  const sealed = await sealDataset(m, images, labels);
  for (const index of sealed.manifest.shards.keys()) {
    writeWhole(shardPath(options.out, index), await sealed.shard(index));
    log(`sealed shard ${index + 1} of ${sealed.manifest.shards.length}`);
  }
  const key = { datasetId: `0x${toHex(sealed.manifest.id)}`, key: `0x${toHex(sealed.dataKey)}` };
  writeWhole(options.key, `${JSON.stringify(key)}\n`, 0o600);
  writeWhole(join(options.out, 'dataset.json'), `${JSON.stringify(datasetManifestJson(sealed.manifest), null, 2)}\n`);
  print(sealed.manifest, options);
  return sealed.manifest;
}

function checkWidth(m: Manifest, pixels: number): void {
  if (pixels === m.dims[0]) return;
  throw new Rejection('RECORDS_WIDTH', {
    expected: `${m.dims[0]} features per record`,
    got: `${pixels}`,
    rule: 'fixed-point §3',
    action: "use the manifest's own data, or change dims[0]",
  });
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
      rule: 'attestation SPEC, dataset manifest',
      action: 'copy the shard again or seal the data set again',
    });
  }
  print(manifest, options);
}

function print(manifest: DatasetManifest, options: OutputOptions): void {
  printResult(options, datasetManifestJson(manifest), () =>
    table([
      ['data set', `0x${toHex(manifest.id)}`],
      ['root', `0x${toHex(manifest.root)}`],
      ['records', `${manifest.records} of ${manifest.features} features, ${manifest.classes} classes`],
      ['blocks', `batch ${manifest.batch}, superblock ${manifest.superblock}`],
      ['shards', `${manifest.shards.length}, ${manifest.shards.reduce((sum, shard) => sum + shard.bytes, 0)} bytes`],
    ]),
  );
}
