/** Bytes of a proof bundle: selector, u32be number of proofs, then per proof u32be length and its bytes. */
import { concatBytes, equalBytes, keccak, uintBe, utf8 } from '#attestation/base';
import { proofBytesMax } from '#libs/zk/verifier';
import { proofBundleBytesMax, segmentsMax } from './limits.js';
import { refuse } from './refuse.js';

const selectorOf = (scheme: string): Uint8Array => keccak(utf8(`veritrain/zk/${scheme}`)).slice(0, 4);
/** First four bytes of a ZkSeal: which verifier it is for. */
const zkSelector = selectorOf('fxt-zk/1');
/** No seal begins like this: no contract takes a statement about a set of records. */
export const accuracySelector: Uint8Array = selectorOf('fxt-zk/accuracy/1');

const rule = 'libs/proof/SPEC.md, bundle';

export function encodeProofBundle(proofs: readonly Uint8Array[], selector = zkSelector): Uint8Array {
  return concatBytes(
    selector,
    uintBe(proofs.length, 4),
    ...proofs.flatMap((proof) => [uintBe(proof.length, 4), proof]),
  );
}

/** @throws Rejection PROOF_BUNDLE, PROOF_SELECTOR */
export function parseProofBundle(bytes: Uint8Array, selector = zkSelector): readonly Uint8Array[] {
  if (bytes.length < 8 || bytes.length > proofBundleBytesMax) {
    refuse('PROOF_BUNDLE', `8 to ${proofBundleBytesMax} bytes`, bytes.length, rule);
  }
  if (!equalBytes(bytes.subarray(0, 4), selector)) {
    const kind = selector === zkSelector ? 'step proofs' : 'proofs of accuracy';
    refuse('PROOF_SELECTOR', `a bundle of ${kind}`, 'other', rule);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const count = view.getUint32(4);
  if (count < 1 || count > segmentsMax) refuse('PROOF_BUNDLE', `1 to ${segmentsMax} proofs`, count, rule);
  const proofs: Uint8Array[] = [];
  let offset = 8;
  for (let i = 0; i < count; i++) {
    if (offset + 4 > bytes.length) refuse('PROOF_BUNDLE', `${count} proofs`, i, rule);
    const length = view.getUint32(offset);
    offset += 4;
    if (length > proofBytesMax || offset + length > bytes.length) {
      refuse('PROOF_BUNDLE', 'a proof within the bundle and the limit', length, rule);
    }
    proofs.push(bytes.subarray(offset, offset + length));
    offset += length;
  }
  if (offset !== bytes.length) refuse('PROOF_BUNDLE', `${offset} bytes`, bytes.length, rule);
  return proofs;
}
