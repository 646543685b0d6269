/** The same program without data keys: it speaks for jobs that list its account, under policies of its own list. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { documentDigest } from '#attestation';
import { fromHex, recoverAddress, to0x, utf8 } from '#attestation/base';
import {
  appraisalDigest,
  domainSeparator,
  encodeSessionEvidence,
  escrowIdOf,
  keysDigest,
  type Appraisal,
} from '#attestation/records';
import { evidenceBy, testSession } from '#test/tiny-evidence';
import { chainId, contract, escrowThatIs, releaseRequest, tinyAt, tinyBrokerConfig, tinyJob } from '#test/tiny-job';
import { createAttestor } from './attestor.js';
import { accountOf } from './authorise.js';
import type { AttestorConfig } from './config.js';
import { createJudgeParts } from './parts.js';

const attestorTestSecret = new Uint8Array(32).fill(0x5b);
const account = accountOf({ signingSecret: attestorTestSecret });
const listed = { terms: { attestors: [new Uint8Array(20).fill(1), account], needed: 1 } };
const job = await tinyJob(listed);
const unlisted = await tinyJob({ terms: { attestors: [new Uint8Array(20).fill(1)], needed: 1 } });
const own = await testSession();

async function attestor(changes: Partial<AttestorConfig> = {}) {
  const { dataKey: _, clients: __, ...shared } = tinyBrokerConfig(job);
  const config: AttestorConfig = { ...shared, attestOnly: true, signingSecret: attestorTestSecret, ...changes };
  const parts = await createJudgeParts(config);
  const speaker = createAttestor(parts);
  return {
    ...parts,
    ask: async (of = job, after = 0) => {
      const { nonce } = parts.nonces.issue(of.jobId, tinyAt + after);
      const evidence = encodeSessionEvidence(await evidenceBy(own, nonce));
      return { evidence, ...(await speaker.appraise(releaseRequest(of, evidence), tinyAt + after)) };
    },
  };
}

describe('S-H4 an attestor', () => {
  it('S-H4 signs an Appraisal of the session in this escrow', async () => {
    const { ask } = await attestor();
    const { appraisal, appraisalSignature, evidence } = await ask();
    const expected: Appraisal = {
      job: escrowIdOf(job.terms),
      provider: own.binding.provider,
      session: keysDigest(own.binding),
      key: own.binding.settlementKey,
      policy: job.spec.policyDigest,
      evidence: new Uint8Array(createHash('sha256').update(evidence).digest()),
      notAfter: tinyAt + 3600,
    };
    expect(appraisal).toEqual(expected);
    const domain = domainSeparator({ chainId, verifyingContract: contract });
    expect(recoverAddress(appraisalDigest(domain, expected), appraisalSignature)).toEqual(account);
  });

  it('S-H4 speaks for no job whose terms do not list it', async () => {
    const { ask } = await attestor();
    await expect(ask(unlisted)).rejects.toMatchObject({ code: 'BROKER_ACCOUNT' });
    const none = await tinyJob({ terms: { attestors: [], needed: 0, keyBroker: account } });
    await expect(ask(none)).rejects.toMatchObject({ code: 'BROKER_ACCOUNT' });
  });

  it('S-H4 appraises under no policy that is not on its list', async () => {
    const second = { ...job.policy, id: 'test:second' };
    const digest = fromHex(documentDigest(second));
    const under = await tinyJob({ ...listed, spec: { policyDigest: digest } });
    const { ask } = await attestor();
    await expect(ask(under)).rejects.toMatchObject({ code: 'BROKER_POLICY' });
    const both = await attestor({ policyFiles: [job.policy, second].map((one) => utf8(JSON.stringify(one))) });
    expect((await both.ask(under)).appraisal.policy).toEqual(digest);
    const mixed = await tinyJob({ ...listed, terms: { ...listed.terms, policy: digest } });
    await expect(both.ask(mixed)).rejects.toMatchObject({ code: 'BROKER_POLICY' });
  });

  it.each([
    ['BROKER_ESCROW', { escrow: escrowThatIs('None') }],
    ['BROKER_ESCROW_UNCONFIRMED', { escrow: escrowThatIs('Open', 'None') }],
    ['BROKER_CLIENT', { clients: new Set(['00'.repeat(20)]) }],
    ['BROKER_CHAIN', { settlement: { chainId, contract: new Uint8Array(20), registry: own.binding.registry } }],
  ])('S-H4 refuses with %s where its settings do not allow the job', async (code, changes) => {
    await expect((await attestor(changes)).ask()).rejects.toMatchObject({ code });
  });

  it('S-H4 ends a session on its own refused evidence, with a Revocation', async () => {
    const { ask, journal, config } = await attestor();
    await ask();
    const denied = { ...job.policy, snp: { ...job.policy.snp, measurements: ['00'.repeat(48)] } };
    const strict = await attestor({ ...config, restrictions: () => denied });
    await expect(strict.ask(job, 1)).rejects.toMatchObject({ code: 'APPRAISAL_REFUSED' });
    await expect(strict.ask(job, 2)).rejects.toMatchObject({ code: 'BROKER_SESSION_ENDED' });
    expect(strict.journal.sessions.revocationsOf(to0x(escrowIdOf(job.terms)))).toHaveLength(1);
    journal.check();
    await expect(ask(job, 3)).rejects.toMatchObject({ code: 'BROKER_SESSION_ENDED' });
  });

  it('A-M1 ends none by the policy of another client’s job, under which it was never let in', async () => {
    const denied = { ...job.policy, id: 'test:denied', snp: { ...job.policy.snp, measurements: ['00'.repeat(48)] } };
    const digest = fromHex(documentDigest(denied));
    const ordered = await tinyJob({ ...listed, spec: { policyDigest: digest } });
    const policyFiles = [job.policy, denied].map((one) => utf8(JSON.stringify(one)));
    const { ask, journal } = await attestor({ policyFiles });
    await ask();
    await expect(ask(ordered, 1)).rejects.toMatchObject({ code: 'APPRAISAL_REFUSED' });
    expect(journal.sessions.revocationsOf(to0x(escrowIdOf(job.terms)))).toHaveLength(0);
    expect((await ask(job, 2)).appraisal.job).toEqual(escrowIdOf(job.terms));
  });
});
