/** Sections 2 and 3 of Annex IV of Regulation (EU) 2024/1689 (AI Act), filled from the evidence. */
import type { Declared } from './declared.js';
import { headOf } from './learning.js';
import { fact, leadOf, pageOf, told, type Section } from './page.js';
import { isoTime } from './time.js';
import type { Training } from './training.js';

export function annexIv(training: Training, declared: Declared): string {
  return pageOf(
    'Technical documentation, Annex IV, sections 2 and 3',
    [
      ...leadOf(training),
      'Regulation (EU) 2024/1689, Article 11(1) and Annex IV. This page is a part of the file, not the file.',
    ],
    [development(training, declared), data(training, declared), testing(training), monitoring(training, declared)],
  );
}

function development(training: Training, declared: Declared): Section {
  const { manifest, segments, weights, work } = training;
  const head = headOf(manifest.value);
  return {
    heading: '2(a) to (c): methods, design and computing resources',
    rows: [
      told('2(a) general description', declared, 'description'),
      fact(
        '2(a) methods and steps of development',
        `${head.optimizer}, ${work?.value.steps ?? '?'} steps in ${segments} segments, ${head.precision}`,
        manifest.basis,
      ),
      fact('2(b) architecture', `${head.family}: ${head.layers}`, manifest.basis),
      fact('2(b) what the system is designed to optimise for', head.loss, manifest.basis),
      told('2(b) intended purpose, rationale and assumptions', declared, 'intendedPurpose'),
      fact('2(c) inputs and outputs', `${head.input} to ${head.output}`, manifest.basis),
      fact('2(c) identity of the trained weights', weights.value, weights.basis),
      ...(work === null
        ? []
        : [
            fact(
              '2(c) computation for training',
              `${work.value.forwardMultiplyAdds} multiply-adds in forward passes`,
              work.basis,
            ),
          ]),
      ...training.machines.map(({ value, basis }) =>
        fact(
          `2(c) computing resources, session ${value.session}`,
          `${value.kind}, ${value.gpus} GPUs, measurement ${value.measurement}, appraised ${isoTime(value.appraisedAt)}`,
          basis,
        ),
      ),
    ],
  };
}

function data({ dataset, work }: Training, declared: Declared): Section {
  return {
    heading: '2(d): data requirements',
    rows: [
      fact('identity of the training data', `root ${dataset.root.value}`, dataset.root.basis),
      fact('extent', `${dataset.rows.value} rows`, dataset.rows.basis),
      ...(work === null ? [] : [fact('rows used', `${work.value.rowsUsed}, ${work.value.epochs} epochs`, work.basis)]),
      told('name', declared, 'datasetName'),
      told('provenance, scope and how it was obtained', declared, 'datasetProvenance'),
      told('labelling and cleaning', declared, 'datasetDescription'),
      told('personal or sensitive data', declared, 'datasetSensitivity'),
    ],
  };
}

function testing({ evaluations, verdict }: Training): Section {
  return {
    heading: '2(g) and (h): validation, testing and cybersecurity',
    rows: [
      ...(evaluations === null
        ? [fact('2(g) validation', 'the job declared no evaluation', 'declared')]
        : [
            fact(
              '2(g) validation data',
              `${evaluations.value.records} rows, root ${evaluations.value.validationRoot}`,
              evaluations.basis,
            ),
            ...evaluations.value.curve.map(({ step, metrics }) =>
              fact(
                `2(g) metrics after step ${step}${step === evaluations.value.deliveredStep ? ', delivered' : ''}`,
                metrics.map(({ figure }) => figure).join(', '),
                evaluations.basis,
              ),
            ),
          ]),
      fact('2(h) appraisal policy', verdict.policySha256 ?? 'no session was judged', 'declared'),
      fact('2(h) checks that do not simply hold', openCodes(verdict.codes), 'declared'),
      fact('2(h) parts of the evidence that no check covers', verdict.notChecked.join(', ') || 'none', 'declared'),
    ],
  };
}

function openCodes(codes: Training['verdict']['codes']): string {
  const open = codes.filter(({ status }) => status !== 'met').map(({ code, status }) => `${code}: ${status}`);
  return open.join(', ') || 'none';
}

function monitoring(training: Training, declared: Declared): Section {
  const { evaluations } = training;
  const delivered = evaluations?.value.curve.find(({ step }) => step === evaluations.value.deliveredStep);
  return {
    heading: '3: monitoring, functioning and control',
    rows: [
      told('capabilities and limitations in performance', declared, 'limitations'),
      ...(delivered === undefined
        ? []
        : [
            fact(
              `accuracy of the delivered weights, those after step ${delivered.step}`,
              delivered.metrics.map(({ figure }) => figure).join(', '),
              evaluations!.basis,
            ),
          ]),
      told('human oversight measures (Article 14)', declared, 'humanOversight'),
      fact('specification of input data', headOf(training.manifest.value).input, training.manifest.basis),
    ],
  };
}
