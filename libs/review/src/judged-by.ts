/** By what and as of when a verdict is, and whose job it is of: what somebody who writes the verdict down names beside it. */
import { documentDigest, neutralPolicy, type BundleVerdict } from '#attestation';
import { to0x, toHex } from '#attestation/base';
import { parseJobSpec } from '#attestation/records';
import { factsOf } from './facts.js';

/** Times in Unix seconds. */
interface JudgedSession {
  readonly session: number;
  /** When its key service appraised the evidence. */
  readonly attestedAt: number;
  /** How long the key service let it work. */
  readonly until: number;
  /** As of when it was judged here. */
  readonly judgedAt: number;
}

interface JudgingPolicy {
  readonly id: string;
  /** SHA-256, hexadecimal. */
  readonly digest: string;
  /** Whether the job was submitted under the same. */
  readonly isOfJob: boolean;
  /** Whether this release brings it, so that it is nobody's own. */
  readonly isNeutral: boolean;
}

interface JudgedBy {
  /** Null where no session was judged: mathematics shows the steps, and no policy decides. */
  readonly policy: JudgingPolicy | null;
  /** Of the policy that the job was submitted under. */
  readonly policyOfJob: string;
  readonly sessions: readonly JudgedSession[];
  /** Addresses with 0x. */
  readonly client: string;
  /** Whom the terms name; else whose sessions were accepted, none of a job that is proved by anybody. */
  readonly providers: readonly string[];
}

/** Whether a policy, by its digest, is the one that this release brings for whoever has none. */
export const isNeutral = (digest: string): boolean => digest === documentDigest(neutralPolicy);

export function judgedBy(verdict: BundleVerdict): JudgedBy {
  const { client, provider, leases } = factsOf(verdict);
  const policyOfJob = toHex(parseJobSpec(verdict.bundle.spec).policyDigest);
  const [first] = verdict.sessions;
  const ofSessions = verdict.sessions.flatMap(({ keys }) => (keys === undefined ? [] : [to0x(keys.provider)]));
  return {
    policy:
      first === undefined
        ? null
        : {
            ...{ id: first.policyId, digest: first.policyDigest },
            isOfJob: first.policyDigest === policyOfJob,
            isNeutral: isNeutral(first.policyDigest),
          },
    policyOfJob,
    sessions: verdict.sessions.map(({ at }, session) => {
      const { from, until } = leases[session]!;
      return { session, attestedAt: from, until, judgedAt: at };
    }),
    client,
    providers: /^0x0+$/.test(provider) ? [...new Set(ofSessions)] : [provider],
  };
}
