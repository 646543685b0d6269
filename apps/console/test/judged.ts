/** What the judge of page and command line says of a file of the corpus and of what lies beside it. */
import { openReview, readGroth16Key, readMaterial, type BundleVerdict } from '#libs/review';
import type { Sample } from './corpus.js';

/** As of when the evidence was fresh, and as of another time. @throws Rejection where the file is no bundle */
export async function judgedHere(
  { bytes, beside = [] }: Pick<Sample, 'bytes' | 'beside'>,
  at: number,
): Promise<readonly [was: BundleVerdict, later: BundleVerdict]> {
  const of = (kind: string): Uint8Array[] => beside.filter((one) => one.kind === kind).map((one) => one.bytes);
  const [policyFile, keyFile] = [of('policy')[0], of('groth16-key')[0]];
  const policy = policyFile && readMaterial(policyFile)!.policy!;
  const groth16Key = keyFile && readGroth16Key(keyFile)!;
  const review = openReview({ bundle: bytes, ...(groth16Key && { groth16Key }) });
  const common = policy && { policy };
  return [await review({ ...common }), await review({ ...common, at, material: of('material') })];
}
