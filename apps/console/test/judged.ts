/** What the judge of page and command line says of a file of the corpus and of what lies beside it. */
import {
  openReview,
  policiesAmong,
  readGroth16Key,
  readLogExport,
  readMaterial,
  type BundleVerdict,
} from '#libs/review';
import type { Sample } from './corpus.js';

/** As of when the evidence was fresh, and as of another time. @throws Rejection where the file is no bundle */
export async function judgedHere(
  { bytes, beside = [] }: Pick<Sample, 'bytes' | 'beside'>,
  at: number,
): Promise<readonly [was: BundleVerdict, later: BundleVerdict]> {
  const of = (kind: string): Uint8Array[] => beside.filter((one) => one.kind === kind).map((one) => one.bytes);
  const [policyFile, keyFile, exportFile, start] = ['policy', 'groth16-key', 'log-export', 'start'].map(
    (kind) => of(kind)[0],
  );
  const logExport = exportFile && readLogExport(exportFile)!;
  const policy = policyFile && readMaterial(policyFile)!.policy!;
  const groth16Key = keyFile && readGroth16Key(keyFile)!;
  const review = openReview({ bundle: bytes, ...(groth16Key && { groth16Key }), ...(start && { start }) });
  const common = policy && { policy };
  const later = { at, material: of('material'), ...(logExport && { logExport }) };
  return [await review({ ...common, material: policiesAmong(of('material')) }), await review({ ...common, ...later })];
}
