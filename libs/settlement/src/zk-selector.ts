import { keccak, utf8 } from '#attestation/base';

/** The verifier of step proofs: first four bytes of keccak256("veritrain/zk/fxt-zk/1"). */
export const zkSelector: Uint8Array = keccak(utf8('veritrain/zk/fxt-zk/1')).slice(0, 4);

/** Of proofs that are verified in two transactions: what meets a duty is the fact that they leave. */
export const splitSelector: Uint8Array = keccak(utf8('veritrain/zk/fxt-zk/1/split')).slice(0, 4);
