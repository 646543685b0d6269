/** What a verified run did, counted from shapes and steps that the bundle binds: nobody has to measure it. */
import { CodedError } from '#attestation/base';
import { parseJobSpec, type JobSpec } from '#attestation/records';
import { forwardMultiplyAdds, parseJobManifestText, type JobManifest } from '#libs/step';
import type { BundleVerdict } from './judge.js';

export interface Work {
  readonly steps: number;
  /** Rows trained on, each as often as it was drawn. */
  readonly rowsUsed: number;
  /** Rows of the data set. */
  readonly rows: number;
  /** `rowsUsed` over `rows`, in hundredths. */
  readonly epochs: string;
  /** Multiply-adds of all forward passes, a decimal integer; error and gradient take up to twice as many beside them. */
  readonly forwardMultiplyAdds: string;
}

/** Of a data-parallel job the steps of all workers. Null where the manifest cannot be read by this release. */
export function workOf({ bundle, steps }: Pick<BundleVerdict, 'bundle' | 'steps'>): Work | null {
  const spec = parseJobSpec(bundle.spec);
  const manifest = manifestOf(spec);
  if (manifest === null) return null;
  const { records: rows } = spec.dataset;
  const rowsUsed = steps * manifest.batch;
  const hundredths = Math.round((100 * rowsUsed) / rows);
  return {
    ...{ steps, rowsUsed, rows },
    epochs: (hundredths / 100).toFixed(2),
    forwardMultiplyAdds: String(BigInt(rowsUsed) * BigInt(forwardMultiplyAdds(manifest))),
  };
}

/** Null where this release cannot read it. */
export function manifestOf({ manifest }: Pick<JobSpec, 'manifest'>): JobManifest | null {
  try {
    return parseJobManifestText(manifest);
  } catch (error) {
    if (error instanceof CodedError) return null;
    throw error;
  }
}
