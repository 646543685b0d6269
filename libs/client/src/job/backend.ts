/** Which argument system proves a job, and why: what the client named, or by the cost model of libs/proof. */
import { ConfigurationError, Rejection } from '#attestation/base';
import {
  isNetDataset,
  type Assurance,
  type DatasetManifest,
  type JobSpec,
  type SealedDataset,
} from '#attestation/records';
import { chooseBackend, groth16PlanOf, parseGroth16Key, planOf, type BackendName, type Groth16Key } from '#libs/proof';
import { isNet, netProvability, type JobManifest, type Manifest, type NetManifest } from '#libs/step';
import { groth16SchemeId } from '#libs/zk/verifier';
import { readJson } from '../files/files.js';
import type { Profile } from '../api/profile.js';
import type { OnLapse } from './terms.js';

export type BackendWish = 'auto' | BackendName;

export interface ProvingRequest {
  /** sumcheck where absent. */
  readonly backend?: BackendWish | undefined;
  /** Document of the verification key that Groth16 proofs are to hold under; the client trusts it. */
  readonly groth16Key?: string | undefined;
  /** `tee` where absent. */
  readonly assurance?: Assurance | undefined;
  readonly onLapse?: OnLapse | undefined;
}

export interface ProvingChoice extends Pick<JobSpec, 'scheme' | 'proving'> {
  /** Data root in the job's scheme. */
  readonly root: Uint8Array;
  /** Key of a Groth16 job. */
  readonly key?: Groth16Key;
  /** One sentence each. */
  readonly why: readonly string[];
}

/**
 * @throws Rejection JOB_DATASET where manifest and data set have different layouts, and what `chooseProof` throws
 */
export function chooseProving(
  manifest: JobManifest,
  dataset: SealedDataset,
  request: ProvingRequest,
  profile: Pick<Profile, 'developmentKeys'>,
): ProvingChoice {
  const layout = isNet(manifest) ? 2 : 1;
  if (isNet(manifest) && isNetDataset(dataset)) return inEnclaveAlone(manifest, dataset.root, request);
  if (!isNet(manifest) && !isNetDataset(dataset)) return chooseProof(manifest, dataset, request, profile);
  throw refused(
    'JOB_DATASET',
    `a data set of record layout ${layout}, which a manifest of fxt ${manifest.fxt} reads`,
    `one of layout ${dataset.version}`,
    'seal the data again for this manifest with `veritrain dataset seal`',
  );
}

/** @throws ConfigurationError JOB_NOT_PROVABLE naming what of the net has no proof */
function inEnclaveAlone(
  manifest: NetManifest,
  root: Uint8Array,
  { assurance = 'tee', onLapse, backend, groth16Key }: ProvingRequest,
): ProvingChoice {
  const isProved = assurance !== 'tee' || onLapse === 'zk' || backend === 'groth16' || groth16Key !== undefined;
  if (!isProved) return { scheme: 'state-keccak', root, proving: null, why: ['an enclave attests nets of fxt 2'] };
  throw new ConfigurationError('JOB_NOT_PROVABLE', {
    expected: 'a network whose every layer has a step proof',
    got: netProvability(manifest).join('; '),
    rule: 'libs/step/SPEC.md §22',
    action: 'submit it with --assurance tee and no other option of proofs, or write it as a manifest of fxt 1',
  });
}

/**
 * @throws ConfigurationError JOB_NOT_PROVABLE, GROTH16_KEY_MISSING, FILE_*; Rejection STEP_PLAN, JOB_SCHEME,
 *   GROTH16_DEVELOPMENT, GROTH16_KEY, GROTH16_SHAPE
 */
function chooseProof(
  manifest: Manifest,
  dataset: DatasetManifest,
  request: ProvingRequest,
  { developmentKeys }: Pick<Profile, 'developmentKeys'>,
): ProvingChoice {
  const key = request.groth16Key === undefined ? undefined : parseGroth16Key(readJson(request.groth16Key));
  const { backend, why } = decided(manifest, dataset, request, key);
  if (backend === 'sumcheck') return { ...inSumcheck(manifest, dataset, request), why };
  const { assurance = 'tee' } = request;
  if (assurance !== 'zk') {
    throw refused(
      'JOB_SCHEME',
      'assurance zk in a job that Groth16 proves',
      assurance,
      'submit it with --assurance zk',
    );
  }
  if (dataset.groth16 === undefined) throw notProvable('one that was sealed without Poseidon', '--groth16');
  if (key === undefined) throw noKey();
  if (key.ceremony === 'development' && developmentKeys !== true) {
    const action = 'name a key of a ceremony; for development, set developmentKeys in the profile';
    throw refused(
      'GROTH16_DEVELOPMENT',
      'a key of an external ceremony',
      'a development key: its maker can forge',
      action,
    );
  }
  const proving = { profile: 'groth16', variant: 'joint' as const, planDigest: groth16PlanOf(manifest, key) };
  return { scheme: groth16SchemeId, root: dataset.groth16.root, proving, key, why };
}

interface Decided {
  readonly backend: BackendName;
  readonly why: readonly string[];
}

function decided(
  manifest: Manifest,
  dataset: DatasetManifest,
  { backend = 'sumcheck', assurance }: ProvingRequest,
  key: Groth16Key | undefined,
): Decided {
  if (backend !== 'auto') return { backend, why: ['it was asked for by name'] };
  const not = (reason: string): Decided => ({ backend: 'sumcheck', why: [`not groth16: ${reason}`] });
  if (assurance !== 'zk') return not('it proves jobs with assurance zk alone');
  if (dataset.groth16 === undefined) return not('the data set was sealed without --groth16');
  if (key === undefined) return not('no key was named with --groth16-key');
  if (key.ceremony === 'development') return not('a development key is used only when asked for by name');
  if (dataset.proving === null)
    return { backend: 'groth16', why: ['not sumcheck: the data set was sealed without --provable'] };
  const { profile } = dataset.proving;
  return chooseBackend(manifest, { backend, profile, variant: 'separate', onChain: true, ceremony: key.ceremony });
}

function inSumcheck(
  manifest: Manifest,
  { scheme, root, proving }: DatasetManifest,
  { assurance = 'tee', onLapse }: ProvingRequest,
): Pick<ProvingChoice, 'scheme' | 'proving' | 'root'> {
  if (proving !== null) {
    const { profile } = proving;
    const { digest: planDigest } = planOf({ manifest, profile, variant: 'separate' });
    return { scheme, root, proving: { profile, variant: 'separate', planDigest } };
  }
  if (assurance === 'tee' && onLapse !== 'zk') return { scheme, root, proving: null };
  throw notProvable('one with plain hashes', '--provable');
}

function notProvable(got: string, option: string): ConfigurationError {
  return new ConfigurationError('JOB_NOT_PROVABLE', {
    expected: 'a data set whose commitments proofs can open',
    got,
    rule: 'job submit',
    action: `seal it again with \`veritrain dataset seal ${option}\``,
  });
}

function noKey(): ConfigurationError {
  return new ConfigurationError('GROTH16_KEY_MISSING', {
    expected: '--groth16-key with the document of the verification key',
    got: 'none',
    rule: 'job submit',
    action: 'take key.json of the folder that `veritrain proof key` makes, from whoever you trust with it',
  });
}

function refused(code: string, expected: string, got: string, action: string): Rejection {
  return new Rejection(code, { expected, got, rule: 'job submit', action });
}
