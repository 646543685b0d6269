/** Terms of a job that an enclave's word pays for, as small as tests need them. */
import { JobMode, teeSelector, type Terms } from '#attestation/records';

type Always =
  | 'client'
  | 'provider'
  | 'keyBroker'
  | 'specDigest'
  | 'initialWeights'
  | 'policy'
  | 'segments'
  | 'seedCommitClient'
  | 'acceptBy';

/** Windows that are not named are of no length. */
type NamedTerms = Pick<Terms, Always> &
  Partial<Omit<Terms, Always | 'windows'>> & { readonly windows: Partial<Terms['windows']> };

export function teeTerms({ windows, ...named }: NamedTerms): Terms {
  return {
    token: new Uint8Array(20),
    ...{ snpPolicy: new Uint8Array(32), planDigest: new Uint8Array(32), attestors: [], needed: 0 },
    teeSelector,
    dutySelectors: [],
    price: 1000n,
    stake: 500n,
    liveness: 50n,
    bond: 100n,
    bondFee: 10n,
    publishFee: 10n,
    failShareBps: 0,
    holdbackBps: 10_000,
    samples: 0,
    ...{ unit: 0, unitSegments: 1, parts: 1, providers: new Uint8Array(32) },
    mode: JobMode.tee | JobMode.reveal,
    ...named,
    windows: {
      ...{ start: 0, compute: 0, finality: 0, draw: 0, challenge: 0, prove: 0, provePer: 0 },
      ...{ hold: 0, reveal: 0, ack: 0, drawBlocks: 0 },
      ...windows,
    },
  };
}
