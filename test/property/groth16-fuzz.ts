/**
 * Mutates a chain of Groth16 proofs, its key and its statement by a seed and hands them to the verifier of libs/proof: no
 * mutant is accepted, none makes it crash, and each meets a code of the protocol.
 */
import { equalBytes, to0x, toHex } from '#attestation/base';
import { parseGroth16Statement, verifyGroth16Bundle, type Groth16Statement } from '#libs/proof';
import { groth16ProofBytes, keyBytes } from '#libs/zk/verifier';
import { smallGroth16Request } from '#test/small-groth16';
import { proveFiles } from '../../apps/prover-worker/src/proving/prove-files.js';
import { parseProveRequest } from '../../apps/prover-worker/src/proving/request.js';
import { fuzz, judged, type FuzzReport, type OnProgress } from './fuzz.js';
import { altered, copied, exchanged, extended, flipped, mutantOf, truncated } from './mutants.js';
import type { Draw } from './random.js';

const codes =
  /^(STEP_(NONCANONICAL|FINAL_CHECK|STATEMENT|RANGE_\w+)|MERKLE_PATH|GROTH16_(KEY|SHAPE)|PROOF_\w+|ORDER_\w+)$/;

const word = 32;
const keyAt = 4;
const proofsAt = keyAt + keyBytes + 4;
/** Modulus of the coordinates: canonical elements are below it. */
const modulus = 21888242871839275222246405745257275088696311157297823662689037894645226208583n;
/** y coordinates of A, B (two words each) and C within a proof. */
const ordinates = [[1], [4, 5], [7]] as const;

/** Ways to spoil a bundle. */
const spoil: readonly ((bundle: Uint8Array, draw: Draw) => Uint8Array)[] = [
  mutantOf,
  (bundle, draw) => altered(bundle, proofByte(bundle, draw), (byte) => byte ^ (1 << draw(8))),
  truncated,
  extended,
  (bundle, draw) => withWord(bundle, wordOf(bundle, draw), [0n, 1n, modulus, modulus - 1n, 2n ** 256n - 1n][draw(5)]!),
  (bundle, draw) => exchanged(bundle, wordOf(bundle, draw), wordOf(bundle, draw), word),
  // A point for its negative: on the curve, and in the group.
  (bundle, draw) => {
    const proof = proofOf(bundle, draw);
    return ordinates[draw(3)]!.reduce<Uint8Array>((spoilt, k) => {
      const at = proof + word * k;
      return withWord(spoilt, at, modulus - wordAt(spoilt, at));
    }, bundle);
  },
  // A or C for a point of the key: α, or one of the inputs'.
  (bundle, draw) => {
    const from = keyAt + [0, ...Array.from({ length: 7 }, (_, k) => 448 + 64 * k)][draw(8)]!;
    return copied(bundle, from, proofOf(bundle, draw) + [0, 192][draw(2)]!, 64);
  },
  // B for β, γ or δ.
  (bundle, draw) => copied(bundle, keyAt + 64 + 128 * draw(3), proofOf(bundle, draw) + 64, 128),
  // A part of one proof for that of the other.
  (bundle, draw) => {
    const [at, length] = [[0, 64], [64, 128], [192, 64]][draw(3)] as [number, number]; // prettier-ignore
    const from = proofOf(bundle, draw);
    const to = proofsAt + groth16ProofBytes - (from - proofsAt);
    return copied(bundle, from + at, to + at, length);
  },
];

/** Ways to state something else. */
const restate: readonly ((statement: Groth16Statement, draw: Draw) => Groth16Statement)[] = [
  (statement, draw) => ({ ...statement, jobId: flipped(statement.jobId, draw) }),
  (statement, draw) => ({ ...statement, datasetRoot: flipped(statement.datasetRoot, draw) }),
  (statement, draw) => ({ ...statement, firstStep: statement.firstStep + 1 + draw(80) }),
  (statement, draw) => ({ ...statement, recordCount: draw(4) }),
  (statement, draw) => ({ ...statement, verificationKey: flipped(statement.verificationKey, draw) }),
  (statement) => ({ ...statement, ceremony: 'external' }),
  (statement, draw) => {
    const at = draw(statement.borders.length);
    return { ...statement, borders: statement.borders.map((root, i) => (i === at ? flipped(root, draw) : root)) };
  },
  (statement, draw) => {
    const at = draw(statement.segments.length);
    const segments = statement.segments.map((segment, i) => {
      if (i !== at) return segment;
      if (draw(2) === 0) return { ...segment, data: flipped(segment.data, draw) };
      return { ...segment, path: segment.path.map((node) => flipped(node, draw)) };
    });
    return { ...statement, segments };
  },
  (statement, draw) => ({ ...statement, escrow: { domain: new Uint8Array(32).fill(draw(256)), job: statement.jobId } }),
  (statement, draw) => ({ ...statement, manifest: { ...statement.manifest, steps: 5 + draw(50) } }),
];

const proofOf = (bundle: Uint8Array, draw: Draw): number =>
  proofsAt + groth16ProofBytes * draw((bundle.length - proofsAt) / groth16ProofBytes);
const proofByte = (bundle: Uint8Array, draw: Draw): number => proofOf(bundle, draw) + draw(groth16ProofBytes);
const wordOf = (bundle: Uint8Array, draw: Draw): number =>
  proofOf(bundle, draw) + word * draw(groth16ProofBytes / word);

function wordAt(bytes: Uint8Array, at: number): bigint {
  return BigInt(to0x(bytes.subarray(at, at + word)));
}

function withWord(bytes: Uint8Array, at: number, value: bigint): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy.set(Buffer.from(value.toString(16).padStart(2 * word, '0'), 'hex'), at);
  return copy;
}

type VerifyGroth16 = (bundle: Uint8Array, statement: Groth16Statement) => unknown;

const verifier: VerifyGroth16 = (bundle, statement) =>
  verifyGroth16Bundle(bundle, statement, { takesDevelopmentKeys: true });

/**
 * @param count  mutants, one in four of the statement
 * @param verify the verifier
 * @throws ConfigurationError BACKEND_UNAVAILABLE
 */
export async function fuzzGroth16(
  count: number,
  seed: number,
  onProgress?: OnProgress,
  verify: VerifyGroth16 = verifier,
): Promise<FuzzReport> {
  const proved = await proveFiles(parseProveRequest(smallGroth16Request()), () => undefined);
  const statement = parseGroth16Statement(JSON.parse(proved.statement));
  const bundle = proved.proof;
  verifier(bundle, statement);
  const trialOf: Parameters<typeof fuzz>[2] = (draw, k) => {
    const ofStatement = k % 4 === 3;
    const way = draw(ofStatement ? restate.length : spoil.length);
    const mutant = ofStatement ? bundle : spoil[way]!(bundle, draw);
    const claimed = ofStatement ? restate[way]!(statement, draw) : statement;
    const isSame = !ofStatement && equalBytes(mutant, bundle);
    return {
      target: ofStatement ? `statement, way ${way}` : `proof, way ${way}`,
      input: () => (ofStatement ? `mutant ${k} of seed ${seed}` : toHex(mutant)),
      run: () => (isSame ? 'taken' : judged(() => verify(mutant, claimed), undefined, codes)),
    };
  };
  return fuzz(count, seed, trialOf, onProgress);
}
