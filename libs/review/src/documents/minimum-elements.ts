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

interface Element {
  readonly cluster: Cluster;
  /** Without the word of its cluster. */
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
    ['Author', said(declared.producer, `${system}/manufacturer/name`)],
    ['Version', at('/version')],
    ['Data Format Name', at('/bomFormat')],
    ['Data Format Version', at('/specVersion')],
    ['Author Signature', missing],
    ['Tool Name', at('/metadata/tools/components/0/name')],
    ['Tool Version', at('/metadata/tools/components/0/version')],
    ['Generation Context', at('/metadata/lifecycles')],
    ['Timestamp', at('/metadata/timestamp')],
    ['Dependency Relationship', at('/dependencies')],
  ];
}

function ofSystem({ declared, training }: Of): readonly Row[] {
  return [
    ['Name', said(declared.modelName, `${system}/name`)],
    ['Components', at('/components', training.weights.basis)],
    ['Producer', said(declared.producer, `${system}/manufacturer/name`)],
    ['Version', said(declared.modelVersion, `${system}/version`)],
    ['Timestamp', missing],
    ['Data Flow', at(`${system}/properties`)],
    ['Data Usage', missing],
    ['Input/Output Properties', at(`${model}/modelCard/modelParameters/inputs`, training.manifest.basis)],
    ['Intended Application Area', said(declared.intendedPurpose, `${system}/description`)],
  ];
}

function ofModel({ declared, files, training }: Of): readonly Row[] {
  const { manifest, weights, from, machines } = training;
  const hash = files.length > 0 ? at(`${model}/components/0/hashes`) : at(`${model}/properties`, weights.basis);
  return [
    ['Name', said(declared.modelName, `${model}/name`)],
    ['Identifier', at(`${model}/properties`, weights.basis)],
    ['Version', said(declared.modelVersion, `${model}/version`)],
    ['Timestamp', said(from, '/formulation/0/workflows/0/timeStart', machines[0]?.basis)],
    ['Producer', said(declared.producer, `${system}/manufacturer/name`)],
    ['Description', said(declared.description, `${model}/description`)],
    ['Hash Value', hash],
    ['Hash Algorithm', hash],
    ['Properties', at(`${model}/modelCard/modelParameters`, manifest.basis)],
    ['Input/Output Properties', at(`${model}/modelCard/modelParameters/outputs`, manifest.basis)],
    ['Training Properties', at('/formulation/0/workflows/0/properties', weights.basis)],
    ['License', said(declared.modelLicense, `${model}/licenses`)],
    ['External References', missing],
  ];
}

function ofDataset({ declared, training }: Of): readonly Row[] {
  const { root, rows } = training.dataset;
  return [
    ['Name', said(declared.datasetName, `${dataset}/name`)],
    ['Description', said(declared.datasetDescription, `${dataset}/description`)],
    ['Content', at(`${model}/modelCard/modelParameters/inputs`, training.manifest.basis)],
    ['Identifier', at(`${dataset}/properties`, root.basis)],
    ['Hash', at(`${dataset}/properties`, root.basis)],
    ['Provenance', said(declared.datasetProvenance, `${dataset}/properties`)],
    ['Statistical Properties', at(`${dataset}/properties`, rows.basis)],
    ['Sensitivity', said(declared.datasetSensitivity, `${dataset}/data/0/classification`)],
    ['Dependency Relationship', missing],
    ['License', said(declared.datasetLicense, `${dataset}/licenses`)],
  ];
}

function ofMachines({ training: { evaluations, machines } }: Of): readonly Row[] {
  const first = `/components/${evaluations === null ? 2 : 3}/properties`;
  const basis = machines[0]?.basis;
  const found = basis === undefined ? missing : at(first, basis);
  return [
    ['Software', found],
    ['Hardware', found],
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
