import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { CollateralError, Rejection } from '#attestation/base';
import type { BrokerClient, BrokerRenewal } from '#libs/node';
import type { EnclaveClient } from '#libs/enclave-channel';
import type { RenewedSession } from '#libs/wire';
import { startRenewals, type Renewals } from './renewal.js';

const word = new Uint8Array(32).fill(1);
const why = { expected: 'a', got: 'b', rule: 'test' };

/** What the broker says, for a second. */
function renewal(round: number): BrokerRenewal {
  const named = { job: word, session: word, policy: word, evidence: word };
  const lease = { ...named, nonce: word, grantedAt: round, notAfter: round + 1 };
  const judged = { account: word, result: word, resultSignature: word, endorsements: Uint8Array.of(7) };
  return { lease, leaseSignature: Uint8Array.of(9), ...judged };
}

type Step = 'challenge' | 'attest' | 'broker' | 'enclave' | 'tell';

const started: Renewals[] = [];
afterEach(() => started.splice(0).forEach((renewals) => renewals.stop()));

/** @param fail what goes wrong at a step of a round, from 1 */
function bench(fail: (step: Step, round: number) => Error | null = () => null, tier = 'affirming') {
  const log: Step[] = [];
  let round = 1;
  let isClosed = false;
  const given: object[] = [];
  const reports: RenewedSession[] = [];
  const at = async (step: Step): Promise<void> => {
    log.push(step);
    const error = fail(step, round);
    if (error !== null && step !== 'tell') round++;
    if (error !== null) throw error;
  };
  const broker = {
    challenge: async () => (await at('challenge'), word),
    renew: async () => (await at('broker'), renewal(round)),
  } as unknown as BrokerClient;
  const enclave = {
    async request(type: string, body: object) {
      await at(type === 'attest' ? 'attest' : 'enclave');
      if (type === 'renew') given.push(body);
      return word;
    },
    close: () => void (isClosed = true),
  } as unknown as EnclaveClient;
  const tell = async (report: RenewedSession) => {
    reports.push(report);
    const told = at('tell');
    round++;
    return told.then(() => ({ tier, checks: [] }));
  };
  const session = { jobId: '0x', spec: word, terms: word, enclave, broker, tell };
  const renewals = startRenewals(session, renewal(0).lease);
  started.push(renewals);
  return { renewals, log, given, reports, isClosed: () => isClosed };
}

const whole: readonly Step[] = ['challenge', 'attest', 'broker', 'enclave', 'tell'];
const patient = { timeout: 20_000 };

describe('renewals', () => {
  it('come before the end, one after the other, each in order', async () => {
    const { renewals, log, given, reports, isClosed } = bench();
    await expect.poll(() => log.length, patient).toBeGreaterThanOrEqual(10);
    renewals.stop();
    expect(log.slice(0, 10)).toEqual([...whole, ...whole]);
    expect(given[0]).toEqual({ lease: renewal(1).lease, signature: Uint8Array.of(9) });
    expect(reports[0]).toMatchObject({
      ...{ endorsements: 'Bw==', resultSignature: `0x${'01'.repeat(32)}` },
      lease: { grantedAt: 1, notAfter: 2, signature: '0x09' },
    });
    expect([renewals.refusal(), isClosed()]).toEqual([null, false]);
  });

  it('are tried again while broker, chain or channel give no answer', async () => {
    const away = new CollateralError('BROKER_UNREACHABLE', why);
    const { log, isClosed } = bench((step, round) => (step === 'broker' && round === 1 ? away : null));
    await expect.poll(() => log.includes('tell'), patient).toBe(true);
    expect(log).toEqual(['challenge', 'attest', 'broker', ...whole]);
    expect(isClosed()).toBe(false);
  });

  it('go on when the control plane does not take them: the run is owed', async () => {
    const { log, isClosed, renewals } = bench((step) => (step === 'tell' ? new Rejection('LEASE_FENCED', why) : null));
    await expect.poll(() => log.filter((step) => step === 'tell').length, patient).toBeGreaterThanOrEqual(2);
    expect([renewals.refusal(), isClosed()]).toEqual([null, false]);
  });

  it.each<[string, Step, string]>([
    ['ATTESTATION_REFUSED', 'broker', 'BROKER_REFUSED'],
    ['ATTESTATION_REFUSED', 'broker', 'BROKER_SESSION_ENDED'],
    ['ATTESTATION_LAPSED', 'enclave', 'ATTESTATION_LAPSED'],
    ['ATTESTATION_LAPSED', 'broker', 'BROKER_SESSION_LAPSED'],
  ])('end with %s and the enclave at the first refusal: %s says %s', async (code, at, said) => {
    const bad = bench((step) => (step === at ? new Rejection(said, why) : null));
    await expect.poll(bad.isClosed, patient).toBe(true);
    expect(bad.renewals.refusal()).toMatchObject({ code, family: 'collateral', detail: { got: `${said}: b` } });
    expect(bad.log.filter((step) => step === at)).toHaveLength(1);
    expect(bad.log).not.toContain('tell');
  });

  it('end when the control plane refuses the session', async () => {
    const bad = bench(() => null, 'contraindicated');
    await expect.poll(bad.isClosed, patient).toBe(true);
    expect(bad.renewals.refusal()).toMatchObject({ code: 'ATTESTATION_REFUSED' });
  });

  it('touch nothing any more when they are stopped', async () => {
    const { renewals, log, isClosed } = bench(() => new Rejection('BROKER_REFUSED', why));
    renewals.stop();
    await sleep(500);
    expect([log, isClosed(), renewals.refusal()]).toEqual([[], false, null]);
  });
});
