/** Seals a data set, and looks at a sealed one. */
import { existsSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ConfigurationError, Rejection, to0x, toHex } from '#attestation/base';
import {
  datasetManifestBytesMax,
  isNetDataset,
  readSealedDataset,
  sealedDatasetJson,
  shardAt,
  shardCount,
  type SealedDataset,
} from '#attestation/records';
import { sealData, sealFiles, shardPath, workFolder, type SealDataRequest, type SealRequest } from '#libs/client';
import { readBytes, readJson } from '#libs/client/files';
import { isNet, parseJobManifest } from '#libs/step';
import { arraysOf, kindsOf, taskKinds } from '../model/data.js';
import { dataBeside, startHeader, tokenizerName } from '../model/folder.js';
import { printResult, ownTable, type OutputOptions } from '../output.js';
import { showProgress } from '../progress.js';

interface DataOptions extends Pick<SealDataRequest, 'validation'> {
  readonly data?: string;
  readonly label?: readonly string[];
  readonly task?: 'class' | 'real' | 'vector' | 'tokens';
  readonly drop?: readonly string[];
  readonly dropUnlabelled?: boolean;
  readonly tokenizer?: string;
  readonly textField?: string;
  readonly arrays?: readonly string[];
  readonly validationArrays?: readonly string[];
  /** false: a table has no line of names. */
  readonly names?: boolean;
}

type SealOptions = Omit<SealRequest, 'images' | 'labels'> &
  Partial<Pick<SealRequest, 'images' | 'labels'>> &
  DataOptions &
  OutputOptions;

export async function seal(options: SealOptions): Promise<void> {
  const watch = showProgress(options);
  const { manifest, data, validation, images, labels, out, key } = options;
  refuseSealed(out, key);
  refuseIdleProfile(options);
  if (data === undefined) {
    if (images === undefined || labels === undefined) throw noSource();
    return print(await sealFiles({ ...options, images, labels }, watch), options);
  }
  const table = labels ?? planned(manifest).labels;
  const source = { ...(table && { labels: table }), ...sourceOf(options) };
  const m = parseJobManifest(readJson(manifest));
  const by = isNet(m) ? startHeader(manifest, m) : undefined;
  const asked = { by, choices: choicesOf(options), source, validation: validation ?? planned(manifest).validation };
  const apart = arraysIn(options.validationArrays);
  const { dataset, report } = await sealData({ manifest, data, ...asked, validationSource: apart, out, key }, watch);
  print(dataset, options, report);
}

/**
 * A data set that is whole may be uploaded already: with another key in that file nobody could open it any more. A call that
 * was killed behind its last shard left the records in the clear, which nothing needs any more.
 */
function refuseSealed(out: string, key: string): void {
  const whole = join(out, 'dataset.json');
  if (!existsSync(whole) || !existsSync(key)) return;
  rmSync(workFolder(out), { recursive: true, force: true });
  throw new ConfigurationError('SEAL_EXISTS', {
    expected: 'a folder without a sealed data set',
    got: `one in ${out}, and a data key in ${key}`,
    rule: 'dataset seal',
    action: 'choose another --out and --key, or remove both where nobody has the data set yet',
  });
}

/** A profile that nothing is committed under would be passed over without a word. */
function refuseIdleProfile({ proofProfile, provable, data }: SealOptions): void {
  if (proofProfile === undefined || (provable === true && data === undefined)) return;
  throw new ConfigurationError('SEAL_PROFILE', {
    expected: '--proof-profile with --provable, --images and --labels',
    got: data === undefined ? 'no --provable' : '--data',
    rule: 'dataset seal',
    action: 'add --provable, or leave the profile out',
  });
}

/** How the plan beside the manifest reads data; nothing where the manifest was written by hand. */
function planned(manifest: string): ReturnType<typeof dataBeside> {
  const { validation, ...plan } = dataBeside(manifest);
  return { ...plan, ...(validation !== undefined && validation !== '0' && { validation }) };
}

/** As asked for, else as the plan says: `model init` leaves rows without a label out, too. */
function choicesOf({ manifest, label, task, drop, dropUnlabelled }: SealOptions): SealDataRequest['choices'] {
  const plan = planned(manifest);
  const [labels, kind] = [label ?? plan.target, task ?? (plan.task && taskKinds[plan.task])];
  const dropped = drop ?? plan.drop;
  const isPlanned = label === undefined && Object.keys(plan).length > 0;
  return {
    ...(labels && { label: labels }),
    ...(kind && { task: kind }),
    ...(dropped && { drop: dropped }),
    kinds: kindsOf(plan),
    ...((dropUnlabelled === true || isPlanned) && { missingLabel: 'drop' }),
  };
}

function sourceOf({ manifest, data, ...asked }: SealOptions): SealDataRequest['source'] {
  const { size, textField, task, arrays, names: areNamed } = planned(manifest);
  const beside = join(dirname(manifest), tokenizerName);
  const tokenizer = asked.tokenizer ?? (existsSync(beside) ? beside : undefined);
  const isText = task === 'language' && /\.(jsonl|ndjson)$/i.test(data ?? '');
  const field = asked.textField ?? textField ?? (isText ? 'text' : undefined);
  return {
    ...(tokenizer && { tokenizer }),
    ...(field && { textField: field }),
    ...(size && { size: [Number(size), Number(size)] }),
    ...((asked.names === false || areNamed === false) && { hasNames: false }),
    ...arraysIn(asked.arrays ?? arrays),
  };
}

function arraysIn(arrays: readonly string[] | undefined): { arrays?: Readonly<Record<string, string>> } {
  return arrays === undefined ? {} : { arrays: arraysOf(arrays) };
}

function noSource(): ConfigurationError {
  return new ConfigurationError('SEAL_SOURCE', {
    expected: '--data for an fxt/2 manifest, --images and --labels for fxt/1',
    got: 'neither',
    rule: 'dataset seal',
  });
}

export async function inspect(folder: string, options: OutputOptions): Promise<void> {
  const dataset = readSealedDataset(readBytes(join(folder, 'dataset.json'), datasetManifestBytesMax));
  for (let index = 0; index < shardCount(dataset); index++) {
    const shard = shardAt(dataset, index)!;
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
  print(dataset, options);
}

interface Report {
  readonly train: number;
  readonly dropped: number;
  readonly droppedColumns: readonly string[];
  readonly notes: readonly string[];
}

function print(dataset: SealedDataset, options: OutputOptions, report?: Report): void {
  const { records, batch, superblock } = dataset;
  const validation = isNetDataset(dataset) ? dataset.validation : null;
  const shards = Array.from({ length: shardCount(dataset) }, (_, index) => shardAt(dataset, index)!);
  const rows: (readonly [string, string])[] = [
    ['data set', to0x(dataset.id)],
    ['root', to0x(dataset.root)],
    [
      'records',
      isNetDataset(dataset)
        ? `${records} of ${dataset.recordBytes} bytes`
        : `${records} of ${dataset.features} features, ${dataset.classes} classes`,
    ],
    ['blocks', `batch ${batch}, superblock ${superblock}`],
    ...(validation === null
      ? []
      : [['validation', `${validation.records} records, batch ${validation.batch}`] as const]),
    ['shards', `${shards.length}, ${shards.reduce((sum, { bytes }) => sum + bytes, 0)} bytes`],
    ...(report?.notes ?? []).map((note) => ['note', note] as const),
    ...(report && report.train > records
      ? [['left out', `${report.train - records} rows that fill no batch`] as const]
      : []),
    ...(report && report.dropped > 0 ? [['left out', `${report.dropped} rows without a label`] as const] : []),
  ];
  printResult(options, { ...sealedDatasetJson(dataset), ...(report && { report }) }, () => ownTable(rows));
}
