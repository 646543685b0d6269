/**
 * The summary of training content that Article 53(1)(d) of Regulation (EU) 2024/1689 asks for, in the three sections of
 * the Commission's template (C(2025) 8311).
 */
import type { Declared } from './declared.js';
import { headOf } from './learning.js';
import { fact, leadOf, pageOf, told } from './page.js';
import { isoTime } from './time.js';
import type { Training } from './training.js';

export function trainingDataSummary(training: Training, declared: Declared): string {
  const { dataset, evaluations, manifest, until, weights, work } = training;
  return pageOf(
    'Summary of training content',
    [...leadOf(training), 'Regulation (EU) 2024/1689, Article 53(1)(d), in the sections of the Commission’s template.'],
    [
      {
        heading: '1. General information',
        rows: [
          told('provider', declared, 'producer'),
          told('model name', declared, 'modelName'),
          told('model version', declared, 'modelVersion'),
          fact('identity of the weights', weights.value, weights.basis),
          fact('last appraisal of the training', until === null ? 'no enclave took part' : isoTime(until), 'declared'),
          fact('modality', headOf(manifest.value).input, manifest.basis),
          fact('size of the training data', `${dataset.rows.value} rows`, dataset.rows.basis),
          ...(work === null ? [] : [fact('passes over it', `${work.value.epochs} epochs`, work.basis)]),
        ],
      },
      {
        heading: '2. List of data sources',
        rows: [
          fact('data set', `root ${dataset.root.value}; no other row was read by the training`, dataset.root.basis),
          told('name', declared, 'datasetName'),
          told('source and how it was obtained', declared, 'datasetProvenance'),
          told('licence', declared, 'datasetLicense'),
          ...(evaluations === null
            ? []
            : [fact('validation set', `root ${evaluations.value.validationRoot}, measured on`, evaluations.basis)]),
        ],
      },
      {
        heading: '3. Data processing aspects',
        rows: [
          told('content and preparation', declared, 'datasetDescription'),
          told('personal data and rights of others', declared, 'datasetSensitivity'),
          told('whom to ask', declared, 'securityContact'),
        ],
      },
    ],
  );
}
