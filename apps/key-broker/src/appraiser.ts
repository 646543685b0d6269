/**
 * The relying party: appraises a session under its own policies, and under what it demands beyond them since, and signs
 * what was found.
 */
import * as ed25519 from '@noble/ed25519';
import {
  appraise,
  documentDigest,
  endorsementsAbout,
  endorsementsOfRecord,
  endorsementsOfSession,
  evidenceOfSession,
  signResult,
  weakestTier,
  type AttestationResult,
  type Check,
  type Tier,
} from '#attestation';
import { Rejection, toHex } from '#attestation/base';
import {
  encodeEndorsements,
  endorsementsMost,
  type EndorsementRecord,
  type SessionEvidence,
} from '#attestation/records';
import type { SpeakerConfig } from './config.js';
import { machineOf } from './machine.js';
import { readPolicy } from './policy-file.js';
import type { MachineIdentity } from './session-index.js';

export interface SignedResult {
  readonly tier: Tier;
  /** Unix seconds until which the result may be relied on. */
  readonly notAfter: number;
  /** EAR as COSE_Sign1 by the result key. */
  readonly signed: Uint8Array;
  readonly machine: MachineIdentity;
  /** What the verdict rested on beyond the evidence, canonical. */
  readonly endorsements: Uint8Array;
}

/** APPRAISAL_REFUSED naming every check that is not met. */
export class SessionRefused extends Rejection {
  /**
   * The machine is authentic, answered this nonce with these very keys, and something that it signed is not accepted.
   * What certificates alone can bring about is none of it: anybody can put others beside a session's evidence.
   */
  readonly isOfSession: boolean;

  constructor({ checks, submodules }: AttestationResult, detail: Rejection['detail']) {
    super('APPRAISAL_REFUSED', detail);
    const cpu = submodules.find(({ name }) => name === 'cpu');
    const answers = checks.some(({ code, status }) => code === 'REPORT_DATA_MISMATCH' && status === 'met');
    const authentic = submodules.filter(({ authenticity }) => authenticity === 'authentic');
    const own = authentic.flatMap((one) => one.checks).some(isRefusal);
    this.isOfSession = cpu?.authenticity === 'authentic' && answers && own;
  }
}

/** That a device serves another session says nothing against this one. */
const isRefusal = ({ code, status }: Check): boolean => status === 'refused' && code !== 'COMPOSITE_DEVICE_IN_USE';

interface Question {
  readonly evidence: SessionEvidence;
  /** SHA-256 of the policy's deterministic encoding, as spec and terms name it. */
  readonly policyDigest: Uint8Array;
  /** Devices of live sessions of other providers. */
  readonly devicesInUse: ReadonlySet<string>;
  /** Unix seconds. */
  readonly at: number;
}

export interface Appraiser {
  /**
   * @throws Rejection BROKER_POLICY for a policy that is not its own; SessionRefused; ConfigurationError BROKER_CONFIG
   */
  appraise(question: Question): Promise<SignedResult>;
}

type Settings = Pick<SpeakerConfig, 'policyFiles' | 'policySigner' | 'restrictions' | 'resultSecret' | 'collateral'>;

export async function createAppraiser(config: Settings): Promise<Appraiser> {
  const read = await Promise.all(config.policyFiles.map((file) => readPolicy(file, config.policySigner)));
  const policies = new Map(read.map((policy) => [documentDigest(policy), policy]));
  const keyId = await ed25519.getPublicKeyAsync(config.resultSecret);
  return {
    async appraise({ evidence, policyDigest, devicesInUse, at }) {
      const policy = policies.get(toHex(policyDigest));
      if (policy === undefined) throw otherPolicy([...policies.keys()], policyDigest);
      const material = endorsementsUsed(config.collateral(), evidence);
      const endorsements = endorsementsOfSession(evidence, endorsementsOfRecord(material));
      const subject = { evidence: evidenceOfSession(evidence), endorsements, nonce: evidence.nonce, devicesInUse, at };
      const restrictions = (await config.restrictions?.()) ?? null;
      const result = await appraise({ ...subject, policy });
      const results = restrictions === null ? [result] : [result, await appraise({ ...subject, policy: restrictions })];
      for (const each of results) requireAccepted(each);
      return {
        tier: weakestTier(results.map((each) => each.tier)),
        notAfter: Math.min(...results.map((each) => each.notAfter)),
        signed: await signResult(result, keyId, (message) => ed25519.signAsync(message, config.resultSecret)),
        machine: machineOf(result),
        endorsements: encodeEndorsements(material),
      };
    },
  };
}

/** Within what a record may hold. */
function endorsementsUsed(material: EndorsementRecord, evidence: SessionEvidence): EndorsementRecord {
  const about = endorsementsAbout(material, evidence);
  const names = Object.keys(about) as (keyof EndorsementRecord)[];
  const cut = names.map((name) => [name, about[name].slice(0, endorsementsMost[name])]);
  return Object.fromEntries(cut) as EndorsementRecord;
}

function requireAccepted(result: AttestationResult): void {
  const { tier, checks, policyId } = result;
  if (tier === 'affirming' || tier === 'warning') return;
  const open = checks.filter(({ status }) => status !== 'met' && status !== 'warned');
  throw new SessionRefused(result, {
    expected: `evidence that policy ${policyId} accepts`,
    got: `${tier}: ${open.map(({ code, status }) => `${code} (${status})`).join(', ')}`,
    rule: open[0]?.rule ?? 'attestation/SPEC.md, appraisal',
    action: open[0]?.action || "meet the data owner's policy",
  });
}

function otherPolicy(own: readonly string[], got: Uint8Array): Rejection {
  return new Rejection('BROKER_POLICY', {
    expected: `a job under policy ${own.join(', ')}`,
    got: toHex(got),
    rule: "the data owner's release policy",
    action: 'submit the job under a policy that this party appraises under',
  });
}
