/** What seals made for the tests of a verifier alone are bound to: terms that no escrow was opened for, and their domain. */
import { domainSeparator, type Terms } from '#attestation/records';

export const fill = (n: number, size = 32): Uint8Array => new Uint8Array(size).fill(n);
export const domain = domainSeparator({ chainId: 31337, verifyingContract: fill(0xc0, 20) });

export function sealTerms(specDigest: Uint8Array, dutySelector: Uint8Array): Terms {
  return {
    client: fill(1, 20),
    provider: fill(2, 20),
    keyBroker: fill(0, 20),
    token: fill(0, 20),
    specDigest,
    initialWeights: fill(6),
    policy: fill(0),
    ...{ snpPolicy: fill(0), planDigest: fill(0), attestors: [], needed: 0 },
    teeSelector: fill(0, 4),
    dutySelectors: [dutySelector],
    price: 10n,
    stake: 11n,
    liveness: 2n,
    bond: 13n,
    bondFee: 4n,
    publishFee: 1n,
    failShareBps: 0,
    holdbackBps: 0,
    segments: 64,
    samples: 0,
    ...{ unit: 0, unitSegments: 1, parts: 1, providers: fill(0) },
    mode: 2,
    seedCommitClient: fill(22),
    acceptBy: 2 ** 39,
    windows: {
      ...{ start: 1, compute: 1, finality: 1, draw: 1, challenge: 1, prove: 1, provePer: 1 },
      ...{ hold: 1, reveal: 1, ack: 1, drawBlocks: 1 },
    },
  };
}
