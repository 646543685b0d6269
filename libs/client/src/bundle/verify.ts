/** Verifies a bundle file alone: no network, no clock unless asked; and recomputes the start weights from the manifest. */
import { verifyBundle, type BundleVerdict, type Check } from '#attestation';
import { toHex } from '#attestation/base';
import { decodeTerms, parseJobSpec, type JobSpec } from '#attestation/records';
import { verifyBundledProofUnder } from '#libs/proof';
import { isNet, parseJobManifestText } from '#libs/step';
import { commitmentsOfJob } from '#libs/zk/groth16/commitment';
import { readBytes } from '../files.js';
import { startWeights } from '../job/start.js';
import { bundleBytesMax, startBytesMax } from '../limits.js';
import { readPolicy } from '../policy.js';

interface VerifyOptions {
  /** Policy file; absent: the policy that the job was submitted under. */
  readonly policy?: string;
  /** Unix seconds; absent: as of the time at which the evidence was fresh. */
  readonly at?: number;
  /** Whether Groth16 keys that one machine made are good enough; they are not where absent. */
  readonly developmentKeys?: boolean;
  /** File of the weights that the job starts from, where its manifest names some. */
  readonly start?: string;
  /** Digest of the only Groth16 key that is taken. */
  readonly verificationKey?: Uint8Array;
}

/** @throws ConfigurationError FILE_*; Rejection where the file is no bundle at all */
export async function verifyBundleFile(file: string, options: VerifyOptions): Promise<BundleVerdict> {
  const { developmentKeys = false, verificationKey } = options;
  const given = options.start === undefined ? null : readBytes(options.start, startBytesMax);
  const verdict = await verifyBundle({
    bundle: readBytes(file, bundleBytesMax),
    proofs: verifyBundledProofUnder({ takesDevelopmentKeys: developmentKeys, verificationKey }),
    startOf: (job) => startBorder(job, given),
    ...(options.policy !== undefined && { policy: readPolicy(options.policy).policy }),
    ...(options.at !== undefined && { at: options.at }),
  });
  const start = checkStart(verdict, given);
  const tier = start.status === 'forged' ? 'contraindicated' : verdict.tier;
  return { ...verdict, tier, checks: [start, ...verdict.checks] };
}

/**
 * weightsDigest of the weights that the manifest's seed gives, or of those that it names, computed anew.
 *
 * @throws Rejection START_MISSING where it names weights and they are not given; START_ROOT, WEIGHTS_*
 */
export function startBorder({ spec }: { readonly spec: JobSpec }, start: Uint8Array | null = null): Uint8Array {
  const manifest = parseJobManifestText(spec.manifest);
  return commitmentsOfJob(spec, manifest, null).border(0, startWeights(manifest, start));
}

/** The escrow's start weights are those that the manifest's seed gives, or that it names (libs/step/SPEC.md §9, §25). */
function checkStart({ bundle }: BundleVerdict, start: Uint8Array | null): Check {
  const spec = parseJobSpec(bundle.spec);
  const got = toHex(decodeTerms(bundle.terms).initialWeights);
  const manifest = parseJobManifestText(spec.manifest);
  if (isNet(manifest) && manifest.start.kind === 'weights' && start === null) {
    return {
      ...{ id: 'BUNDLE_START', code: 'BUNDLE_START', claim: 'executables', status: 'not-checked', got },
      expected: `the weights with root ${manifest.start.root}`,
      rule: 'The run starts from the weights that the manifest names; the enclave compared their root before it trained.',
      source: 'libs/step/SPEC.md §25',
      action: 'give the file of the start weights (--start) to compare them here too',
    };
  }
  const expected = toHex(startBorder({ spec }, start));
  return {
    id: 'BUNDLE_START',
    code: 'BUNDLE_START',
    claim: 'executables',
    status: got === expected ? 'met' : 'forged',
    got,
    expected,
    rule: "The run starts from the weights that the manifest's seed gives, or that it names.",
    source: 'libs/step/SPEC.md §9',
    action: got === expected ? '' : 'do not rely on this bundle: the start weights are not the announced ones',
  };
}
