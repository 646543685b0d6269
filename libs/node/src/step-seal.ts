/** A kept proof as the contract takes it, in the scheme of its job. */
import { stepSpecOf, type JobSpec, type Terms } from '#attestation/records';
import {
  parseGroth16Bundle,
  parseProofBundle,
  planOf,
  readGroth16Document,
  readProofDocument,
  segmentStatement,
} from '#libs/proof';
import { groth16SealOf, stepSealOf, type StepSeal } from '#libs/settlement';
import { groth16SchemeId } from '#libs/zk/verifier';

/** The proof of one segment, as files. */
export interface ProofFiles {
  /** Proof bundle of one proof. */
  readonly bundle: Uint8Array;
  /** Text of its statement document. */
  readonly document: string;
}

/** @param domain EIP-712 domain separator of the escrow. @throws Rejection SEAL_SPEC, PROOF_*, STEP_* */
export function sealOf(domain: Uint8Array, terms: Terms, spec: JobSpec, index: number, proof: ProofFiles): StepSeal {
  const { bundle, document } = proof;
  if (spec.scheme === groth16SchemeId) {
    const statement = readGroth16Document(document);
    const { proofs } = parseGroth16Bundle(bundle);
    const segment = { ...segmentOf(statement), index };
    return groth16SealOf(domain, terms, stepSpecOf(spec), spec.proving!.planDigest, segment, proofs[0]!);
  }
  const stated = readProofDocument(document);
  const plan = planOf(stated);
  const statement = segmentStatement(stated, plan, 0);
  return stepSealOf(domain, terms, stepSpecOf(spec), { statement, plan, proof: parseProofBundle(bundle)[0]! });
}

interface OneSegment<C> {
  readonly borders: readonly C[];
  readonly segments: readonly { readonly data: C; readonly path: readonly Uint8Array[] }[];
}

function segmentOf<C>({ borders, segments }: OneSegment<C>) {
  const { data, path } = segments[0]!;
  return { before: borders[0]!, after: borders[1]!, data, dataPath: path };
}
