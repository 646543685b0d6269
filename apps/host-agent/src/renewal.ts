/**
 * Keeps the attestation of a session at work fresh: evidence over a new nonce of the broker, between the steps of the run;
 * the broker's word goes to the enclave and the control plane. What the broker refuses ends the run.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { CodedError, CollateralError, Rejection, to0x, toBase64 } from '#attestation/base';
import { type Lease } from '#attestation/records';
import { type BrokerClient, note } from '#libs/node';
import type { EnclaveClient } from '#libs/enclave-channel';
import type { RenewedSession } from '#libs/wire';
import { judgedOf } from './job-session.js';

interface SessionAtWork {
  readonly jobId: string;
  readonly spec: Uint8Array;
  /** abi.encode(Terms). */
  readonly terms: Uint8Array;
  readonly enclave: EnclaveClient;
  readonly broker: BrokerClient;
  /** Tells the control plane. @returns its answer */
  tell(renewed: RenewedSession): Promise<unknown>;
}

export interface Renewals {
  /** Why the session may not go on; null while it may. */
  refusal(): CodedError | null;
  stop(): void;
}

/** Of the time that is left at a renewal: two more attempts fit before it is over. */
const renewAtShare = 1 / 3;
const retryAtShare = 1 / 12;
const pauseMsMin = 250;
const pauseMsMax = 24 * 3_600_000;

const Answer = z.object({ tier: z.string() });

type Window = Pick<Lease, 'grantedAt' | 'notAfter'>;

/** @param first of the release, just now */
export function startRenewals(session: SessionAtWork, first: Window): Renewals {
  const stop = new AbortController();
  let newest = first;
  let refusal: CodedError | null = null;
  const pause = async (share: number): Promise<void> => {
    const window = 1000 * (newest.notAfter - newest.grantedAt);
    const ms = Math.min(pauseMsMax, Math.max(pauseMsMin, share * window));
    await sleep(ms, null, { signal: stop.signal }).catch(() => null);
  };
  const loop = async (): Promise<void> => {
    for (;;) {
      await pause(renewAtShare);
      while (!stop.signal.aborted) {
        try {
          newest = await renew(session);
          break;
        } catch (error) {
          if (stop.signal.aborted) return;
          note('renewal', error);
          if (error instanceof Rejection) {
            refusal = refused(error);
            return session.enclave.close();
          }
          await pause(retryAtShare);
        }
      }
      if (stop.signal.aborted) return;
    }
  };
  void loop();
  return {
    refusal: () => refusal,
    stop: () => stop.abort(),
  };
}

/** @throws Rejection when the session may not go on; CollateralError when another try may help */
async function renew(session: SessionAtWork): Promise<Window> {
  const { jobId, spec, terms, enclave, broker } = session;
  const nonce = await broker.challenge(jobId);
  const evidence = await enclave.request('attest', { nonce });
  const { lease, leaseSignature, result, resultSignature, endorsements } = await broker.renew({
    spec,
    terms,
    evidence,
  });
  await enclave.request('renew', { lease, signature: leaseSignature });
  const report = {
    ...judgedOf({ evidence, endorsements }),
    lease: { grantedAt: lease.grantedAt, notAfter: lease.notAfter, signature: to0x(leaseSignature) },
    ...{ result: toBase64(result), resultSignature: to0x(resultSignature) },
  };
  const answer = await session.tell(report).catch(heardNothing);
  const { tier } = Answer.catch({ tier: 'unknown' }).parse(answer);
  if (tier !== 'contraindicated' && tier !== 'none') return lease;
  throw new Rejection('ATTESTATION_REFUSED', {
    expected: 'a session that the control plane accepts under the policy of the job',
    got: tier,
    rule: 'apps/control-plane/README.md, renewals',
  });
}

/** The run is owed whatever becomes of the lease, and the broker's word is what the enclave goes by. */
function heardNothing(error: unknown): unknown {
  note('renewal', error);
  return null;
}

/** What enclave and broker say of a session that was not renewed in time: nothing was found against its platform. */
const lapsed: ReadonlySet<string> = new Set(['ATTESTATION_LAPSED', 'BROKER_SESSION_LAPSED']);

/** No fault of the job: another session goes on with it. */
function refused({ code, detail }: Rejection): CollateralError {
  return new CollateralError(lapsed.has(code) ? 'ATTESTATION_LAPSED' : 'ATTESTATION_REFUSED', {
    ...detail,
    got: `${code}: ${detail.got}`,
  });
}
