import { keccak, utf8 } from '#attestation/base';

/** The verifier of step proofs: first four bytes of keccak256("veritrain/zk/fxt-zk/1"). */
export const zkSelector: Uint8Array = keccak(utf8('veritrain/zk/fxt-zk/1')).slice(0, 4);
