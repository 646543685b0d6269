/** What a verified run did, counted from shapes and steps that the bundle binds: nobody has to measure it. */
import { CodedError } from '#attestation/base';
import { parseJobSpec } from '#attestation/records';
import { forwardMultiplyAdds, parseJobManifestText } from '#libs/step';
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
  const { dataset, manifest: text } = parseJobSpec(bundle.spec);
  try {
    const manifest = parseJobManifestText(text);
    const rowsUsed = steps * manifest.batch;
    const hundredths = Math.round((100 * rowsUsed) / dataset.records);
    return {
      ...{ steps, rowsUsed, rows: dataset.records },
      epochs: (hundredths / 100).toFixed(2),
      forwardMultiplyAdds: String(BigInt(rowsUsed) * BigInt(forwardMultiplyAdds(manifest))),
    };
  } catch (error) {
    if (error instanceof CodedError) return null;
    throw error;
  }
}
