/** Would this machine pass a policy? Asked before a job is taken, answered with what to fix. */
import {
  appraise,
  endorsementsOfSession,
  evidenceOfSession,
  type AppraisalPolicy,
  type Check,
  type Tier,
} from '#attestation';
import { CodedError } from '#attestation/base';
import { type SessionEvidence } from '#attestation/records';
import { collectEndorsements, type CollateralStore } from '#libs/collateral';
import { collectMachineEvidence, type MachineOptions } from './collect.js';
import { readFacts, type MachineFacts } from './facts.js';
import { findingOfMissing, findingsOfChecks, findingsOfDates, type Finding } from './findings.js';

export interface PreflightReport {
  /** The policy accepts this machine now. */
  readonly ok: boolean;
  /** Null where no evidence could be collected. */
  readonly appraisal: Tier | null;
  /** Unix seconds. */
  readonly at: number;
  readonly policy: string;
  readonly facts: MachineFacts | null;
  readonly findings: readonly Finding[];
  readonly checks: readonly Check[];
}

/** @param at  Unix seconds; @throws ConfigurationError POLICY_*, COLLATERAL_DIRECTORY */
export async function preflight(
  machine: MachineOptions,
  policy: AppraisalPolicy,
  store: CollateralStore,
  at: number,
): Promise<PreflightReport> {
  let evidence: SessionEvidence;
  try {
    evidence = await collectMachineEvidence(machine);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    const findings = [deviceFinding(error)];
    return { ok: false, appraisal: null, at, policy: policy.id, facts: null, findings, checks: [] };
  }
  return judgeMachine(evidence, policy, store, at);
}

/** The part of `preflight` that needs no device. */
export async function judgeMachine(
  session: SessionEvidence,
  policy: AppraisalPolicy,
  store: CollateralStore,
  at: number,
): Promise<PreflightReport> {
  const evidence = evidenceOfSession(session);
  const collected = await collectEndorsements(store, evidence, at);
  const endorsements = endorsementsOfSession(session, collected.endorsements);
  const result = await appraise({ evidence, endorsements, policy, nonce: session.nonce, at });
  const facts = await readFacts(session, endorsements, at);
  return {
    ok: result.tier === 'affirming' || result.tier === 'warning',
    appraisal: result.tier,
    at,
    policy: policy.id,
    facts,
    findings: [
      ...findingsOfChecks(result.checks),
      ...collected.missing.map(findingOfMissing),
      ...findingsOfDates(facts.certificates, at),
    ],
    checks: result.checks,
  };
}

function deviceFinding({ code, detail }: CodedError): Finding {
  const { expected, got, action = 'check that this guest has the device' } = detail;
  return { area: 'devices', weight: 'blocking', code, expected, got, action };
}
