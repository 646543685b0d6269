/** What a verdict rested on travels with it, and brings about the same verdict anywhere else. */
import { describe, expect, it } from 'vitest';
import {
  appraise,
  endorsementsAbout,
  endorsementsOfRecord,
  endorsementsOfSession,
  evidenceOfSession,
  parseCertificate,
  type AppraisalPolicy,
  documentDigest,
} from '#attestation';
import { utf8, fromHex } from '#attestation/base';
import {
  noEndorsementRecord,
  parseEndorsements,
  type EndorsementRecord,
  encodeSessionEvidence,
} from '#attestation/records';
import { fakeAmd } from '#test/fake-amd';
import { evidenceBy, testSession } from '#test/tiny-evidence';
import { releaseRequest, tinyAt, tinyBroker, tinyJob } from '#test/tiny-job';

const amd = fakeAmd('milan');
const own = await testSession();
const plain = await tinyJob();
const policy: AppraisalPolicy = {
  ...plain.policy,
  id: 'test:revocation',
  snp: { ...plain.policy.snp, revocation: 'required' },
};
const job = await tinyJob({ spec: { policyDigest: fromHex(documentDigest(policy)) } });
const dates = { thisUpdate: tinyAt - 60, nextUpdate: tinyAt + 60 };
const crl = await amd.crl(dates);
const foreign = await fakeAmd('turin').crl(dates);

async function released(material: Partial<EndorsementRecord>) {
  const collateral = () => ({ ...noEndorsementRecord, ...material });
  const { broker, nonces } = await tinyBroker(job, { collateral, policyFiles: [utf8(JSON.stringify(policy))] });
  const { nonce } = nonces.issue(job.jobId, tinyAt);
  const evidence = await evidenceBy(own, nonce);
  const { result } = await broker.release(releaseRequest(job, encodeSessionEvidence(evidence)), tinyAt);
  return { evidence, endorsements: parseEndorsements(result.endorsements) };
}

describe('A-H1 the endorsements of a verdict', () => {
  it('A-H1 come with the release, and another party comes to the same verdict with them and to none without', async () => {
    const { evidence, endorsements } = await released({ crls: [crl] });
    expect(endorsements.crls).toEqual([crl]);
    const judge = (record: EndorsementRecord) =>
      appraise({
        evidence: evidenceOfSession(evidence),
        endorsements: endorsementsOfSession(evidence, endorsementsOfRecord(record)),
        policy,
        nonce: evidence.nonce,
        at: tinyAt,
      });
    expect(['affirming', 'warning']).toContain((await judge(endorsements)).tier);
    expect((await judge({ ...endorsements, crls: [] })).tier).toBe('none');
  });

  it('A-H1 are those that the owner had: a verdict that needs more is not given', async () => {
    await expect(released({})).rejects.toMatchObject({ code: 'APPRAISAL_REFUSED' });
  });

  it('A-H1 are what can bear on the evidence, and no more', async () => {
    const { endorsements } = await released({
      crls: [foreign, crl],
      rims: [utf8('<a/>')],
      ocsp: [utf8('b')],
      intel: [utf8('{}')],
    });
    expect(endorsements).toEqual({ ...noEndorsementRecord, crls: [crl] });
  });

  it('A-H1 of other machines do not stand in the way, however many the owner keeps', async () => {
    const certificates = fakeAmd('turin').certificates;
    const { endorsements } = await released({ certificates, crls: [...Array<Uint8Array>(20).fill(foreign), crl] });
    expect(endorsements.crls).toEqual([crl]);
    expect(endorsements.certificates).toEqual([]);
  });

  it('A-H1 of a GPU are the manifests of its driver and any VBIOS, and the answers about its certificates', async () => {
    const evidence = await evidenceBy(own, new Uint8Array(32));
    const gpu = { report: utf8('driver 550.90.07 of a report'), certificates: [amd.certificates[0]!] };
    const rims = ['550.90.07', '535.00.01', '96.00.5E.00.01'].map((version) =>
      utf8(`<Meta colloquialVersion="${version}"/>`),
    );
    const answer = fromHex(`0x02${parseCertificate(amd.certificates[0]!).serial}`);
    const material = { ...noEndorsementRecord, rims, ocsp: [utf8('of another'), answer] };
    const used = endorsementsAbout(material, { ...evidence, gpus: [gpu] });
    expect(used).toEqual({ ...noEndorsementRecord, rims: [rims[0]!, rims[2]!], ocsp: [answer] });
  });
});
