/** What is checked of a submitted job of `fxt/2` beside what holds for every job. */
import { Rejection, to0x } from '#attestation/base';
import type { JobSpec, NetDatasetManifest } from '#attestation/records';
import {
  checkHeaderFits,
  netProvability,
  netRecordLayout,
  opsOf,
  parseDataHeader,
  stateKeccak,
  type NetManifest,
} from '#libs/step';
import type { JobRequirements } from '#libs/wire';
import { refusal } from '../core/problem/codes.js';
import { demandEqual } from './demand.js';

const rule = 'apps/control-plane/README.md, submission';
/** Reasons that are named, of however many there are. */
const namedMax = 8;

/**
 * Nobody proves a step of a net: an enclave attests them.
 * @throws Rejection JOB_SCHEME naming what has no proof
 */
export function checkNet({ scheme, proving, assurance }: JobSpec, manifest: NetManifest): void {
  if (scheme === stateKeccak.id && proving === null && assurance === 'tee') return;
  const reasons = netProvability(manifest);
  const more = reasons.length > namedMax ? [`and ${reasons.length - namedMax} more`] : [];
  throw refusal('JOB_SCHEME', {
    expected: `assurance tee in scheme ${stateKeccak.id}: ${[...reasons.slice(0, namedMax), ...more].join('; ')}`,
    got: `assurance ${assurance} in scheme ${scheme}${proving === null ? '' : ', with a plan of proofs'}`,
    rule,
    action: 'Submit the job with assurance tee, or write the network as a manifest of fxt 1.',
  });
}

/** What a node must know to train it. */
export function netRequirements(manifest: NetManifest): Pick<JobRequirements, 'fxt' | 'ops' | 'start'> {
  return { fxt: 2, ops: [...opsOf(manifest)], ...(manifest.start.kind === 'weights' && { start: true }) };
}

/** @throws Rejection JOB_DATASET_MISMATCH with what differs */
export function checkNetDataset(spec: JobSpec, manifest: NetManifest, sealed: NetDatasetManifest): void {
  const agree = (what: string, expected: string | number, got: string | number): void =>
    demandEqual('JOB_DATASET_MISMATCH', `${what} ${expected}`, `${what} ${got}`);
  agree('root', to0x(spec.dataset.root), to0x(sealed.root));
  agree('records', spec.dataset.records, sealed.records);
  agree('shards', spec.dataset.shards, sealed.shards.length);
  agree('batch', manifest.batch, sealed.batch);
  agree('superblock', manifest.superblock, sealed.superblock);
  fits(manifest, sealed.header);
  agree('bytes of a record', netRecordLayout(manifest).recordBytes, sealed.recordBytes);
  const { validation } = spec;
  if (validation === undefined) return;
  const given = sealed.validation;
  agree('validation root', to0x(validation.root), given === null ? 'none' : to0x(given.root));
  agree('validation records', validation.records, given!.records);
  agree('validation batch', manifest.evaluate!.batch, given!.batch);
}

/** The header's own words say what differs. */
function fits(manifest: NetManifest, header: object): void {
  try {
    checkHeaderFits(manifest, parseDataHeader(header));
  } catch (error) {
    if (error instanceof Rejection) throw refusal('JOB_DATASET_MISMATCH', { ...error.detail, rule });
    throw error;
  }
}
