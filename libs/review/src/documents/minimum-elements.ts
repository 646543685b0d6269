/**
 * The elements of "SBOM for AI, minimum elements" (G7 Cybersecurity Working Group, 12 May 2026), cluster by cluster: where
 * each stands in the bill, what it rests on, or that nobody gave it. The paper was not at hand: DOCUMENTS.md says from where
 * the names are.
 */
import type { Declared } from './declared.js';
import type { Basis } from './marked.js';
import type { ModelFile } from './model-files.js';
import type { Training } from './training.js';

export type Cluster =
  | 'metadata'
  | 'system level properties'
  | 'models'
  | 'dataset properties'
  | 'key performance indicators'
  | 'infrastructure'
  | 'security properties';

export interface Element {
  readonly cluster: Cluster;
  readonly name: string;
  /** Null: neither the evidence nor a declaration has it. */
  readonly found: { readonly basis: Basis; /** JSON Pointer into the bill. */ readonly at: string } | null;
}

interface Of {
  readonly training: Training;
  readonly files: readonly ModelFile[];
  readonly declared: Declared;
}

type Found = Element['found'];
type Row = readonly [name: string, found: Found];

export function minimumElements(of: Of): readonly Element[] {
  const clusters: readonly (readonly [Cluster, readonly Row[]])[] = [
    ['metadata', ofDocument(of)],
    ['system level properties', ofSystem(of)],
    ['models', ofModel(of)],
    ['dataset properties', ofDataset(of)],
    ['infrastructure', ofMachines(of)],
    ['security properties', ofSecurity(of)],
    ['key performance indicators', ofFigures(of)],
  ];
  return clusters.flatMap(([cluster, rows]) => rows.map(([name, found]): Element => ({ cluster, name, found })));
}

const at = (pointer: string, basis: Basis = 'declared'): Found => ({ basis, at: pointer });
const said = (value: unknown, pointer: string, basis?: Basis): Found =>
  value === undefined || value === null ? null : at(pointer, basis);
const missing: Found = null;

const system = '/metadata/component';
const model = '/components/0';
const dataset = '/components/1';

function ofDocument({ declared }: Of): readonly Row[] {
  return [
    ['SBOM Author', said(declared.producer, `${system}/manufacturer/name`)],
    ['SBOM Version', at('/version')],
    ['SBOM Data Format Name', at('/bomFormat')],
    ['SBOM Data Format Version', at('/specVersion')],
    ['SBOM Author Signature', missing],
    ['SBOM Tool Name', at('/metadata/tools/components/0/name')],
    ['SBOM Tool Version', at('/metadata/tools/components/0/version')],
    ['SBOM Generation Context', at('/metadata/lifecycles')],
    ['SBOM Timestamp', at('/metadata/timestamp')],
    ['SBOM Dependency Relationship', at('/dependencies')],
  ];
}

function ofSystem({ declared, training }: Of): readonly Row[] {
  return [
    ['System Name', said(declared.modelName, `${system}/name`)],
    ['System Components', at('/components', training.weights.basis)],
    ['System Producer', said(declared.producer, `${system}/manufacturer/name`)],
    ['System Version', said(declared.modelVersion, `${system}/version`)],
    ['System Timestamp', missing],
    ['System Data Flow', at(`${system}/properties`)],
    ['System Data Usage', missing],
    ['System Input/Output Properties', at(`${model}/modelCard/modelParameters/inputs`, training.manifest.basis)],
    ['Intended Application Area', said(declared.intendedPurpose, `${system}/description`)],
  ];
}

function ofModel({ declared, files, training }: Of): readonly Row[] {
  const { manifest, weights, from, machines } = training;
  const hash = files.length > 0 ? at(`${model}/components/0/hashes`) : at(`${model}/properties`, weights.basis);
  return [
    ['Model Name', said(declared.modelName, `${model}/name`)],
    ['Model Identifier', at(`${model}/properties`, weights.basis)],
    ['Model Version', said(declared.modelVersion, `${model}/version`)],
    ['Model Timestamp', said(from, '/formulation/0/workflows/0/timeStart', machines[0]?.basis)],
    ['Model Producer', said(declared.producer, `${system}/manufacturer/name`)],
    ['Model Description', said(declared.description, `${model}/description`)],
    ['Model Hash Value', hash],
    ['Model Hash Algorithm', hash],
    ['Model Properties', at(`${model}/modelCard/modelParameters`, manifest.basis)],
    ['Model Input/Output Properties', at(`${model}/modelCard/modelParameters/outputs`, manifest.basis)],
    ['Model Training Properties', at('/formulation/0/workflows/0/properties', weights.basis)],
    ['Model License', said(declared.modelLicense, `${model}/licenses`)],
    ['Model External References', missing],
  ];
}

function ofDataset({ declared, training }: Of): readonly Row[] {
  const { root, rows } = training.dataset;
  return [
    ['Dataset Name', said(declared.datasetName, `${dataset}/name`)],
    ['Dataset Description', said(declared.datasetDescription, `${dataset}/description`)],
    ['Dataset Content', at(`${model}/modelCard/modelParameters/inputs`, training.manifest.basis)],
    ['Dataset Identifier', at(`${dataset}/properties`, root.basis)],
    ['Dataset Hash', at(`${dataset}/properties`, root.basis)],
    ['Dataset Provenance', said(declared.datasetProvenance, `${dataset}/properties`)],
    ['Dataset Statistical Properties', at(`${dataset}/properties`, rows.basis)],
    ['Dataset Sensitivity', said(declared.datasetSensitivity, `${dataset}/data/0/classification`)],
    ['Dataset Dependency Relationship', missing],
    ['Dataset License', said(declared.datasetLicense, `${dataset}/licenses`)],
  ];
}

function ofMachines({ training: { evaluations, machines } }: Of): readonly Row[] {
  const first = `/components/${evaluations === null ? 2 : 3}/properties`;
  const basis = machines[0]?.basis;
  const found = basis === undefined ? missing : at(first, basis);
  return [
    ['Infrastructure Software', found],
    ['Infrastructure Hardware', found],
  ];
}

function ofSecurity({ declared }: Of): readonly Row[] {
  return [
    ['Security Controls', at('/formulation/0/properties')],
    ['Security Compliance', missing],
    ['Cybersecurity Policy Information', said(declared.securityContact, '/metadata/properties')],
    ['Vulnerability Referencing', missing],
  ];
}

function ofFigures({ training: { evaluations } }: Of): readonly Row[] {
  const metrics = `${model}/modelCard/quantitativeAnalysis/performanceMetrics`;
  return [
    ['Security Metrics', missing],
    ['Operational Performance KPIs', evaluations === null ? missing : at(metrics, evaluations.basis)],
  ];
}
