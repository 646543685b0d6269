/** Documents that a reviewer's organisation keeps, each from one verdict (libs/review/DOCUMENTS.md). */
import { ConfigurationError, utf8 } from '#attestation/base';
import type { BundleVerdict } from '../judge.js';
import { annexIv } from './annex-iv.js';
import { bill } from './cyclonedx.js';
import type { Declared } from './declared.js';
import type { EcdsaKey } from './dsse.js';
import { trainingStatement } from './in-toto.js';
import { jsonBytes } from './json.js';
import type { ModelFile } from './model-files.js';
import { modelSignature } from './model-signature.js';
import { trainingDataSummary } from './training-data.js';
import { trainingOf, type Training } from './training.js';
import { verificationSummary } from './verification-summary.js';

export interface DocumentInput {
  readonly bundle: Uint8Array;
  readonly verdict: BundleVerdict;
  /** Exported files of the model; none: the commitment to the weights stands for them. */
  readonly files: readonly ModelFile[];
  readonly declared: Declared;
  /** Name of the model's folder, where the files have one. */
  readonly modelName: string;
  /** P-256; the model signature needs it. */
  readonly key?: EcdsaKey;
  /** Unix seconds at which the document is made. */
  readonly at: number;
}

interface Format {
  readonly title: string;
  /** Of the file that it is saved as. */
  readonly file: string;
  readonly mediaType: string;
  make(training: Training, input: DocumentInput): Uint8Array;
}

const json = 'application/json';
const markdown = 'text/markdown';

export const documentFormats = {
  cyclonedx: {
    ...{ title: 'CycloneDX ML-BOM', file: 'bom.cdx.json', mediaType: 'application/vnd.cyclonedx+json' },
    make: (training, input) => jsonBytes(bill({ ...input, training })),
  },
  'in-toto': {
    ...{ title: 'in-toto statement of the training', file: 'training.intoto.json', mediaType: json },
    make: (training, { files }) => jsonBytes(trainingStatement(training, files)),
  },
  vsa: {
    ...{ title: 'SLSA verification summary', file: 'summary.intoto.json', mediaType: json },
    make: (training, { files, at }) => jsonBytes(verificationSummary(training, files, at)),
  },
  'model-signature': {
    ...{ title: 'OpenSSF model signature', file: 'model.sig', mediaType: json },
    make: (_, { files, modelName, key }) => jsonBytes(modelSignature(modelName, files, keyOf(key))),
  },
  'annex-iv': {
    ...{ title: 'AI Act, Annex IV, sections 2 and 3', file: 'annex-iv.md', mediaType: markdown },
    make: (training, { declared }) => utf8(annexIv(training, declared)),
  },
  'training-data': {
    ...{ title: 'AI Act, summary of training content', file: 'training-data.md', mediaType: markdown },
    make: (training, { declared }) => utf8(trainingDataSummary(training, declared)),
  },
} as const satisfies Readonly<Record<string, Format>>;

export type DocumentFormat = keyof typeof documentFormats;

/** @throws Rejection REPORT_VERDICT; ConfigurationError REPORT_MODEL, REPORT_KEY */
export function makeDocument(format: DocumentFormat, input: DocumentInput): Uint8Array {
  return documentFormats[format].make(trainingOf(input.bundle, input.verdict), input);
}

function keyOf(key: EcdsaKey | undefined): EcdsaKey {
  if (key !== undefined) return key;
  throw new ConfigurationError('REPORT_KEY', {
    expected: 'an ECDSA P-256 key to sign with',
    got: 'none',
    rule: 'OpenSSF Model Signing 1.0 §4.1',
    action: 'name a PKCS #8 file with --key',
  });
}
