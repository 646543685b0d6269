/** snarkjs's decimal strings as the bytes of verifier/key.ts and verifier/verify.ts. */
import { concatBytes, word } from '#attestation/base';
import type { G1Json, G2Json, KeyJson, ProofJson } from './protocol.js';

export function encodeKey(key: KeyJson): Uint8Array {
  return concatBytes(g1(key.vk_alpha_1), g2(key.vk_beta_2), g2(key.vk_gamma_2), g2(key.vk_delta_2), ...key.IC.map(g1));
}

export function encodeProof({ pi_a, pi_b, pi_c }: ProofJson): Uint8Array {
  return concatBytes(g1(pi_a), g2(pi_b), g1(pi_c));
}

function g1([x, y]: G1Json): Uint8Array {
  return concatBytes(word(BigInt(x)), word(BigInt(y)));
}

function g2([[x0, x1], [y0, y1]]: G2Json): Uint8Array {
  return concatBytes(word(BigInt(x1)), word(BigInt(x0)), word(BigInt(y1)), word(BigInt(y0)));
}
