/** Verifies a bundle file alone: no network, no clock unless asked; and recomputes the start weights from the manifest. */
import { verifyBundle, type BundleVerdict, type Check } from '#attestation';
import { toHex } from '#attestation/base';
import { decodeTerms, parseJobSpec, type JobSpec } from '#attestation/records';
import { verifyBundledProofUnder } from '#libs/proof';
import { initialWeights, parseJobManifestText } from '#libs/step';
import { commitmentsOfJob } from '#libs/zk/groth16/commitment';
import { readBytes } from '../files.js';
import { bundleBytesMax } from '../limits.js';
import { readPolicy } from '../policy.js';

interface VerifyOptions {
  /** Policy file; absent: the policy that the job was submitted under. */
  readonly policy?: string;
  /** Unix seconds; absent: as of the time at which the evidence was fresh. */
  readonly at?: number;
  /** Whether Groth16 keys that one machine made are good enough; they are not where absent. */
  readonly developmentKeys?: boolean;
  /** Digest of the only Groth16 key that is taken. */
  readonly verificationKey?: Uint8Array;
}

/** @throws ConfigurationError FILE_*; Rejection where the file is no bundle at all */
export async function verifyBundleFile(file: string, options: VerifyOptions): Promise<BundleVerdict> {
  const { developmentKeys = false, verificationKey } = options;
  const verdict = await verifyBundle({
    bundle: readBytes(file, bundleBytesMax),
    proofs: verifyBundledProofUnder({ takesDevelopmentKeys: developmentKeys, verificationKey }),
    startOf: startBorder,
    ...(options.policy !== undefined && { policy: readPolicy(options.policy).policy }),
    ...(options.at !== undefined && { at: options.at }),
  });
  const start = checkStart(verdict);
  const tier = start.status === 'met' ? verdict.tier : 'contraindicated';
  return { ...verdict, tier, checks: [start, ...verdict.checks] };
}

/** weightsDigest of the weights that the manifest's seed gives, computed anew. */
export function startBorder({ spec }: { readonly spec: JobSpec }): Uint8Array {
  const manifest = parseJobManifestText(spec.manifest);
  return commitmentsOfJob(spec, manifest, null).border(0, initialWeights(manifest));
}

/** The escrow's start weights are those that the manifest's seed gives (libs/step/SPEC.md §9). */
function checkStart({ bundle }: BundleVerdict): Check {
  const expected = toHex(startBorder({ spec: parseJobSpec(bundle.spec) }));
  const got = toHex(decodeTerms(bundle.terms).initialWeights);
  return {
    id: 'BUNDLE_START',
    code: 'BUNDLE_START',
    claim: 'executables',
    status: got === expected ? 'met' : 'forged',
    got,
    expected,
    rule: "The run starts from the weights that the manifest's seed gives.",
    source: 'libs/step/SPEC.md §9',
    action: got === expected ? '' : 'do not rely on this bundle: the start weights are not the announced ones',
  };
}
