/** Seals what a data owner has, a table, text, pictures or arrays, as records of layout 2 for a manifest of fxt 2. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigurationError, toHex } from '#attestation/base';
import {
  netShardAssociatedData,
  sealedDatasetJson,
  type NetDatasetManifest,
  type ShardSet,
} from '#attestation/records';
import { importData, openSource, type Choices, type ImportedData } from '#libs/data';
import {
  checkHeaderFits,
  dataDigest,
  isNet,
  layoutDigest,
  manifestDigest,
  netDatasetRoot,
  orderSize,
  parseJobManifest,
  splitNetRecords,
  type DataHeader,
  type NetManifest,
} from '#libs/step';
import { readJson, writeWhole } from '../files/files.js';
import { alone } from './alone.js';
import { openJournal } from './journal.js';
import { fileRecords, type RecordSource } from './records.js';
import { sealSets } from './seal-sets.js';
import type { Watch } from './watch.js';

type OpenOptions = NonNullable<Parameters<typeof openSource>[1]>;

export interface SealDataRequest {
  /** fxt/2 manifest, JSON file. */
  readonly manifest: string;
  /** File or folder. */
  readonly data: string;
  /** Share of the rows such as `10%`, a number of rows, or a file of its own; for manifests that evaluate. */
  readonly validation?: string | undefined;
  /** Which columns are read, and how. */
  readonly choices?: Choices | undefined;
  /** Header that the manifest's start weights were made for: the data are encoded by it. */
  readonly by?: DataHeader | undefined;
  /** How the source is opened, where manifest and file do not say: tokenizer, field of a text, file of labels. */
  readonly source?: OpenOptions | undefined;
  /** How a validation file is opened otherwise: the arrays of an NPZ. */
  readonly validationSource?: Pick<OpenOptions, 'arrays'> | undefined;
  /** Folder of the sealed data set; the records in the clear are kept beside it, in `<out>.work`, until all is sealed. */
  readonly out: string;
  /** Where the data key goes. */
  readonly key: string;
}

interface SealedData {
  readonly dataset: NetDatasetManifest;
  /** What was read, left out and clamped. */
  readonly report: ImportedData['report'];
}

/** Of the records in the clear, until all is sealed. @param out folder of the sealed data set */
export const workFolder = (out: string): string => `${out}.work`;

/**
 * A call that was interrupted is made again: reading and sealing go on where they were.
 *
 * @throws ConfigurationError SEAL_MANIFEST, SEAL_VALIDATION, SEAL_BUSY, FILE_*, DATA_*; DataError DATA_* naming file, row and
 *   column; Rejection MANIFEST_*, STEP_RANGE_*, HEADER_FIT, LABEL_RANGE, TOKEN_RANGE, ORDER_TOO_FEW_RECORDS
 */
export async function sealData(request: SealDataRequest, watch: Watch = {}): Promise<SealedData> {
  const m = parseJobManifest(readJson(request.manifest));
  if (!isNet(m)) throw refused('SEAL_MANIFEST', 'an fxt/2 manifest for --data', 'fxt/1', 'seal IDX files for it');
  const { evaluate } = m;
  if ((evaluate === null) !== (request.validation === undefined)) {
    const [expected, got] = evaluate === null ? ['none', 'one'] : ['one, as the manifest evaluates', 'none'];
    throw refused('SEAL_VALIDATION', `a validation set: ${expected}`, got, 'change --validation or `evaluate`');
  }
  return alone(request.out, async () => {
    const work = workFolder(request.out);
    mkdirSync(work, { recursive: true, mode: 0o700 });
    const imported = await read(m, request, work, watch);
    checkHeaderFits(m, imported.header);
    const dataset = await seal(m, imported, request, watch);
    rmSync(work, { recursive: true, force: true });
    return { dataset, report: imported.report };
  });
}

async function read(m: NetManifest, request: SealDataRequest, folder: string, watch: Watch): Promise<ImportedData> {
  const { data, choices = {}, validation = '0%', by } = request;
  const options = { ...shapeOptions(m), ...request.source };
  const source = await openSource(data, options);
  const common = { source, seed: m.seed, choices, folder, ...(by !== undefined && { by }) };
  const share = /^(\d{1,9}(?:\.\d{1,3})?)(%?)$/.exec(validation);
  if (share === null) {
    const apart = await openSource(validation, { ...options, ...request.validationSource });
    return importData({ ...common, validation: apart }, watch);
  }
  if (request.validationSource?.arrays !== undefined)
    throw refused('SEAL_VALIDATION', 'a file beside arrays of the validation set', validation, 'name the file');
  if (m.evaluate === null) return importData({ ...common, validation: 0 }, watch);
  const given = Number(share[1]);
  const held = share[2] === '' ? given || 1 : { percent: given, least: 1 };
  return importData({ ...common, validation: held }, watch);
}

/** What the manifest says of the form of texts and pictures. */
function shapeOptions({ input: { shape, ...input } }: NetManifest): OpenOptions {
  if ('tokens' in input) return { tokens: shape[0]! };
  const [height, width, channels] = shape;
  if (shape.length !== 3 || (channels !== 1 && channels !== 3)) return {};
  return { size: [height!, width!], channels };
}

async function seal(
  m: NetManifest,
  { header, train, validation }: ImportedData,
  { out, key }: SealDataRequest,
  watch: Watch,
): Promise<NetDatasetManifest> {
  const files = [train, ...(validation === null ? [] : [validation])];
  const sources = files.map(({ path, count, recordBytes }) => fileRecords(path, count, recordBytes));
  try {
    const asked = [manifestDigest(m), layoutDigest(header)].map(toHex);
    const journal = openJournal(out, key, JSON.stringify([...asked, ...sources.map((one) => one.fingerprint)]));
    const planned = sources.map((source, index) => setOf(m, header, source, index === 0 ? 'training' : 'validation'));
    const [training, held] = await sealSets(planned, journal, out, watch);
    const dataset: NetDatasetManifest = {
      ...{ version: 2, id: journal.id, root: training!.root, header, records: planned[0]!.used },
      ...{ recordBytes: train.recordBytes, batch: m.batch, superblock: m.superblock, shards: training!.shards },
      validation: held
        ? { root: held.root, records: planned[1]!.used, batch: planned[1]!.unit, shards: held.shards }
        : null,
    };
    writeWhole(join(out, 'dataset.json'), `${JSON.stringify(sealedDatasetJson(dataset), null, 2)}\n`);
    journal.remove();
    return dataset;
  } finally {
    for (const source of sources) source.close();
  }
}

/** Records of the training set beyond the last whole superblock are not used; a validation set is used whole. */
function setOf(m: NetManifest, header: ImportedData['header'], source: RecordSource, set: ShardSet) {
  const isTraining = set === 'training';
  const unit = isTraining ? m.batch * m.superblock : m.evaluate!.batch;
  const used = isTraining ? orderSize(m, source.count).superblocks * unit : source.count;
  return {
    ...{ set, source, used, unit },
    async commit(superblock: number, records: Uint8Array) {
      splitNetRecords(m, records);
      return [await dataDigest('state-keccak', superblock, records)];
    },
    rootOf: (commitments: readonly (readonly Uint8Array[])[]) =>
      netDatasetRoot(
        header,
        commitments.map(([digest]) => digest!),
      ),
    associatedData: (id: Uint8Array, root: Uint8Array, place: number, count: number) =>
      netShardAssociatedData({ id, root, set, count }, place),
  };
}

function refused(code: string, expected: string, got: string, action: string): ConfigurationError {
  return new ConfigurationError(code, { expected, got, rule: 'dataset seal', action });
}
