/**
 * CycloneDX 1.6 ML-BOM (ECMA-424) that fills the seven clusters of "SBOM for AI, minimum elements" (G7 Cybersecurity
 * Working Group, May 2026) from the evidence. Every component carries its cluster and what its facts rest on.
 */
import { releaseVersion } from '../text/release.js';
import type { Declared, DeclaredName } from './declared.js';
import { headOf, learningOf } from './learning.js';
import type { Basis } from './marked.js';
import { minimumElements, type Cluster } from './minimum-elements.js';
import type { ModelFile } from './model-files.js';
import { isoTime } from './time.js';
import type { Training } from './training.js';

interface Property {
  readonly name: string;
  readonly value: string;
}

const property = (name: string, value: string | number | boolean): Property => ({
  name: `veritrain:${name}`,
  value: String(value),
});
const restsOn = (cluster: Cluster, basis: Basis): Property[] => [
  property('cluster', cluster),
  property('basis', basis),
];

const refs = { model: 'model', dataset: 'dataset', validation: 'validation', training: 'training', system: 'system' };

interface BillInput {
  readonly training: Training;
  readonly files: readonly ModelFile[];
  readonly declared: Declared;
  /** Unix seconds. */
  readonly at: number;
}

export function bill(input: BillInput): object {
  const { training, at } = input;
  const machines = training.machines.map((one) => machineComponent(one));
  const validation = training.evaluations === null ? [] : [validationComponent(training)];
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuidOf(training.bundle.sha256)}`,
    version: 1,
    metadata: {
      timestamp: isoTime(at),
      lifecycles: [{ phase: 'build' }],
      tools: { components: [{ type: 'application', name: 'veritrain', version: releaseVersion }] },
      component: systemComponent(input),
      properties: [
        ...restsOn('metadata', 'declared'),
        property('bundle-sha256', training.bundle.sha256),
        property('verdict', training.verdict.heading),
        property('simulated', training.verdict.simulated),
        ...(training.verdict.policySha256 === null ? [] : [property('policy-sha256', training.verdict.policySha256)]),
        property('not-checked', training.verdict.notChecked.join(', ') || 'nothing'),
        property('not-in-the-evidence', absent(input.declared).join(', ') || 'nothing'),
        ...(input.declared.securityContact === undefined
          ? []
          : [property('security-contact-declared', input.declared.securityContact)]),
        ...elementProperties(input),
      ],
    },
    components: [modelComponent(input), datasetComponent(input), ...validation, ...machines],
    dependencies: [
      { ref: refs.system, dependsOn: [refs.model] },
      {
        ref: refs.model,
        dependsOn: [refs.dataset, ...(training.evaluations === null ? [] : [refs.validation])],
      },
    ],
    formulation: [formulationOf(training)],
  };
}

/** Every element of the seven clusters: what it rests on and where it stands, or that it is absent. */
function elementProperties(input: BillInput): readonly Property[] {
  return minimumElements(input).map(({ cluster, name, found }) =>
    property(`g7:${cluster}:${name}`, found === null ? 'absent' : `${found.basis} ${found.at}`),
  );
}

/** What no evidence shows and nobody declared, by the members of a declaration. */
function absent(declared: Declared): readonly DeclaredName[] {
  const wanted = [
    ...(['modelName', 'modelVersion', 'producer', 'modelLicense', 'intendedPurpose', 'limitations'] as const),
    ...(['datasetName', 'datasetProvenance', 'datasetSensitivity', 'datasetLicense', 'securityContact'] as const),
  ];
  return wanted.filter((name) => declared[name] === undefined);
}

function systemComponent({ training, declared }: BillInput): object {
  const { producer, modelName, modelVersion, intendedPurpose } = declared;
  return {
    type: 'application',
    'bom-ref': refs.system,
    name: modelName ?? `training job ${training.jobId}`,
    ...(modelVersion !== undefined && { version: modelVersion }),
    ...(producer !== undefined && { manufacturer: { name: producer } }),
    ...(intendedPurpose !== undefined && { description: intendedPurpose }),
    properties: [
      ...restsOn('system level properties', 'declared'),
      property('data-flow', 'the data set is decrypted inside the enclave alone; weights leave it encrypted'),
      property('assurance', training.assurance),
    ],
  };
}

function modelComponent({ training, files, declared }: BillInput): object {
  const { manifest, weights, evaluations } = training;
  const head = headOf(manifest.value);
  return {
    type: 'machine-learning-model',
    'bom-ref': refs.model,
    name: declared.modelName ?? `weights of job ${training.jobId}`,
    ...(declared.modelVersion !== undefined && { version: declared.modelVersion }),
    ...(declared.description !== undefined && { description: declared.description }),
    ...licensed(declared.modelLicense),
    modelCard: {
      modelParameters: {
        approach: { type: learningOf(manifest.value) },
        task: head.loss,
        architectureFamily: head.family,
        modelArchitecture: head.layers,
        datasets: [{ ref: refs.dataset }],
        inputs: [{ format: head.input }],
        outputs: [{ format: head.output }],
      },
      ...(evaluations !== null && {
        quantitativeAnalysis: {
          performanceMetrics: evaluations.value.curve.flatMap(({ step, metrics }) =>
            metrics.map(({ metric, numerator, denominator }) => ({
              ...{ type: metric, value: `${numerator}/${denominator}`, slice: `validation set after step ${step}` },
            })),
          ),
        },
      }),
      ...(declared.limitations !== undefined && {
        considerations: { technicalLimitations: [declared.limitations] },
      }),
      properties: [
        ...restsOn('key performance indicators', evaluations?.basis ?? 'declared'),
        property('delivered-after-step', evaluations?.value.deliveredStep ?? training.work?.value.steps ?? 'unknown'),
      ],
    },
    ...(files.length > 0 && { components: files.map(fileComponent) }),
    properties: [
      ...restsOn('models', weights.basis),
      property('weights-digest', weights.value),
      property('manifest', manifest.value),
    ],
  };
}

const licensed = (name: string | undefined): object =>
  name === undefined ? {} : { licenses: [{ license: { name, acknowledgement: 'declared' } }] };

/** That a file holds the delivered weights shows whoever exports them again. */
function fileComponent({ name, sha256, bytes }: ModelFile): object {
  return {
    ...{ type: 'file', 'bom-ref': `file:${name}`, name, hashes: [{ alg: 'SHA-256', content: sha256 }] },
    properties: [...restsOn('models', 'declared'), property('bytes', bytes)],
  };
}

function datasetComponent({ training: { dataset }, declared }: BillInput): object {
  const { datasetDescription, datasetLicense, datasetName, datasetProvenance, datasetSensitivity } = declared;
  return {
    type: 'data',
    'bom-ref': refs.dataset,
    name: datasetName ?? `data set ${dataset.id}`,
    ...(datasetDescription !== undefined && { description: datasetDescription }),
    ...licensed(datasetLicense),
    data: [
      {
        type: 'dataset',
        name: 'training rows',
        ...(datasetSensitivity !== undefined && { classification: datasetSensitivity }),
      },
    ],
    properties: [
      ...restsOn('dataset properties', dataset.root.basis),
      property('dataset-root', dataset.root.value),
      property('rows', dataset.rows.value),
      ...(datasetProvenance === undefined ? [] : [property('provenance-declared', datasetProvenance)]),
    ],
  };
}

function validationComponent({ evaluations }: Training): object {
  const { records, validationRoot } = evaluations!.value;
  return {
    ...{ type: 'data', 'bom-ref': refs.validation, name: 'validation set' },
    data: [{ type: 'dataset', name: 'validation rows' }],
    properties: [
      ...restsOn('dataset properties', evaluations!.basis),
      property('dataset-root', validationRoot),
      property('rows', records),
    ],
  };
}

function machineComponent({ value, basis }: Training['machines'][number]): object {
  const { session, kind, chip, measurement, gpus, appraisedAt } = value;
  return {
    ...{ type: 'device', 'bom-ref': `machine:${session}`, name: `${kind} guest of session ${session}` },
    properties: [
      ...restsOn('infrastructure', basis),
      property('measurement', measurement),
      property('chip', chip ?? 'not shown'),
      property('gpus', gpus),
      property('appraised-at', isoTime(appraisedAt)),
    ],
  };
}

function formulationOf(training: Training): object {
  const { from, until, verdict, work } = training;
  return {
    'bom-ref': 'formula',
    workflows: [
      {
        ...{ 'bom-ref': refs.training, uid: training.jobId, name: 'training', taskTypes: ['build'] },
        inputs: [{ resource: { ref: refs.dataset } }],
        outputs: [{ type: 'artifact', resource: { ref: refs.model } }],
        ...(from !== null && { timeStart: isoTime(from) }),
        properties: [
          ...restsOn('models', training.weights.basis),
          property('segments', training.segments),
          ...(until === null ? [] : [property('last-appraisal', isoTime(until))]),
          ...(work === null ? [] : workProperties(work.value)),
        ],
      },
    ],
    properties: [
      property('cluster', 'security properties'),
      property('basis', 'declared'),
      ...verdict.codes.map(({ code, status }) => property(`check:${code}`, status)),
    ],
  };
}

function workProperties(work: NonNullable<Training['work']>['value']): Property[] {
  return [
    property('steps', work.steps),
    property('rows-used', work.rowsUsed),
    property('epochs', work.epochs),
    property('forward-multiply-adds', work.forwardMultiplyAdds),
  ];
}

/** A UUID of version 8 (RFC 9562 §5.8) from a SHA-256, so that one bundle has one serial number. */
function uuidOf(sha256: string): string {
  const variant = ((Number.parseInt(sha256[16]!, 16) & 3) | 8).toString(16);
  return [
    sha256.slice(0, 8),
    sha256.slice(8, 12),
    `8${sha256.slice(13, 16)}`,
    `${variant}${sha256.slice(17, 20)}`,
    sha256.slice(20, 32),
  ].join('-');
}
