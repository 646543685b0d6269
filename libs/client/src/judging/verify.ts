/** Verifies a bundle file alone: no network, no clock unless asked; and recomputes the start weights from the manifest. */
import { parseLogExport } from '#attestation/log';
import { exportBytesMax, policiesAmong, reviewBundle, type BundleVerdict } from '#libs/review';
import { readBytes } from '../files/files.js';
import { bundleBytesMax, materialBytesMax, startBytesMax } from '../limits.js';
import { readPolicy, readTrustPolicy } from './policy.js';

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
  /** Trust policy of logs; with it the job must be logged. */
  readonly logPolicy?: string;
  /** What was revoked in a newer log: file of `veritrain log export`. */
  readonly logExport?: string;
  /** Files beside the bundle, recognised by content. */
  readonly material?: readonly string[];
  /** Whether of `material` policies alone count, of machines and of logs. */
  readonly policiesAlone?: boolean;
}

/** @throws ConfigurationError FILE_*; Rejection where the file is no bundle at all */
export async function verifyBundleFile(file: string, options: VerifyOptions): Promise<BundleVerdict> {
  const { at, developmentKeys, logExport, logPolicy, material = [], policy, start, verificationKey } = options;
  const pieces = material.map((path) => readBytes(path, materialBytesMax));
  return reviewBundle({
    bundle: readBytes(file, bundleBytesMax),
    material: options.policiesAlone === true ? policiesAmong(pieces) : pieces,
    ...(policy !== undefined && { policy: readPolicy(policy).policy }),
    ...(logPolicy !== undefined && { logPolicy: readTrustPolicy(logPolicy) }),
    ...(logExport !== undefined && { logExport: parseLogExport(readBytes(logExport, exportBytesMax)) }),
    ...(at !== undefined && { at }),
    ...(start !== undefined && { start: readBytes(start, startBytesMax) }),
    ...(developmentKeys !== undefined && { takesDevelopmentKeys: developmentKeys }),
    ...(verificationKey !== undefined && { verificationKey }),
  });
}
