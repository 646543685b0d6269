/** `veritrain model import`: a manifest for a model that was brought, and the weights that it starts from. */
import { join } from 'node:path';
import { to0x } from '#attestation/base';
import { writeWhole } from '#libs/client/files';
import { estimate, planBrought, type Adapting, type Agreement, type NewHead } from '#libs/models';
import { encodeWeights, manifestDigest, type DataHeader } from '#libs/step';
import { compareExported, compareFile } from './agreement.js';
import { baselineOf, worseThan, type Baseline } from './baseline.js';
import { readBrought, type BroughtOptions } from './brought.js';
import { openData, recordsOf, usage, type DataOptions } from './data.js';
import { measured, type Measures } from './exact.js';
import { figure } from './figure.js';
import { makePlanFolder, startName, tokenizerName, writePlan } from './folder.js';
import { readingOf, whole, wishOf, type WishOptions } from './wish.js';
import { workingFolder } from './working-folder.js';

export interface ImportOptions extends DataOptions, WishOptions, BroughtOptions {
  readonly from: string;
  readonly out: string;
  readonly freeze?: readonly string[];
  readonly lora?: string;
}

export interface ImportedReport {
  readonly out: string;
  readonly digest: string;
  /** What the manifest says of the start weights. */
  readonly root: string;
  readonly plan: object;
  readonly layers: readonly string[];
  readonly why: readonly string[];
  readonly notes: readonly string[];
  /** Whether a plan stood in the folder before. */
  readonly replaced: boolean;
  readonly dropped: number;
  /** The last layer, where it is new. */
  readonly head: NewHead | null;
  readonly parameters: number;
  readonly trainedParameters: number;
  readonly seconds: number;
  /**
   * The file in float32 by onnxruntime beside the integers, on the whole set that is named; on cells as they stand where it
   * takes the user's own numbers.
   */
  readonly check: Agreement & { readonly set: 'validation' | 'train'; readonly against: string };
  /** Before any training, on the same set. */
  readonly before: Measures;
  /** Of the same rows. */
  readonly baseline: Baseline;
  /** The model is clearly worse than a constant answer: it is likely taken for another than it is. */
  readonly warnings: readonly string[];
}

export async function importModel(file: string, options: ImportOptions): Promise<ImportedReport> {
  const wish = wishOf(options);
  const { seed } = wish;
  const adapting = adaptingOf(options);
  makePlanFolder(options.out);
  const { path: work, drop } = workingFolder('import');
  try {
    const source = await openData(options.from, options);
    const { header, train, validation, report } = await recordsOf(source, options, seed, work);
    const rows = { train: train.count, validation: validation?.count ?? 0 };
    const brought = readBrought(file, options, { header, rows, seed, wish });
    const { manifest, plain, why, start } = planBrought({ header, rows, ...wish }, brought, adapting);
    const set = validation ?? train;
    const isAlone = brought.onnx === undefined || brought.head !== undefined;
    const [net, data] = [
      { m: manifest, header, parameters: start },
      { source, seed, train, validation },
    ];
    const compared = isAlone ? await compareExported(net, data) : await compareFile(brought.onnx!, net, data);
    const before = await measured(manifest, header, start, set);
    const baseline = baselineOf(manifest, header, set);
    const warnings = brought.head === undefined ? poorWords(header, before, baseline, brought.onnx !== undefined) : [];
    const { dropped } = report;
    const left = dropped > 0 ? [`${dropped} rows without a label are left out`] : [];
    const notes = [...brought.messages, ...report.notes, ...left];
    const plan = { plan: plain, why: [...why, ...notes], data: readingOf(options, rows.validation) };
    const replaced = writePlan(options.out, manifest, header, plan);
    writeWhole(join(options.out, startName), encodeWeights(start));
    if (source.tokenizer !== undefined) writeWhole(join(options.out, tokenizerName), source.tokenizer.bytes);
    const { parameters, trainedParameters, seconds } = estimate(manifest);
    return {
      ...{ out: options.out, digest: to0x(manifestDigest(manifest)) },
      root: manifest.start.kind === 'weights' ? manifest.start.root : '',
      ...{ plan: plain, layers: manifest.layers.map(({ id, op }) => `${String(id)} ${String(op)}`), why, notes },
      ...{ replaced, dropped, head: brought.head ?? null, parameters, trainedParameters, seconds },
      check: {
        ...{ set: validation === null ? 'train' : 'validation' },
        against: isAlone ? 'the same weights as an ONNX model' : file,
        ...compared,
      },
      ...{ before, baseline, warnings },
    };
  } finally {
    drop();
  }
}

function poorWords(header: DataHeader, before: Measures, baseline: Baseline, isOnnx: boolean): readonly string[] {
  const worse = worseThan(header, baseline, before.metrics);
  if (worse === undefined) return [];
  const [own, constant] = [worse.value, worse.constant].map((value) => figure(value));
  const remedy = isOnnx
    ? 'look at what --inputs and --outputs say that the file takes and answers with'
    : 'look at the order of the layers, at --map, and whether the weights take and answer with numbers as the data set scales them';
  return [
    `before training ${worse.name} is ${own}, worse than the ${constant} of ${baseline.answer}: unless the weights were never trained, ${remedy}`,
  ];
}

/** @throws ConfigurationError USAGE */
function adaptingOf({ freeze, lora }: ImportOptions): Adapting {
  if (lora !== undefined && freeze !== undefined) {
    throw usage('--lora, which leaves all other weights as they are, or --freeze', 'both');
  }
  if (lora !== undefined) return { lora: whole('--lora', lora) };
  if (freeze === undefined) return {};
  return { frozen: freeze.length === 1 && freeze[0] === 'but-last' ? 'but-last' : freeze };
}
