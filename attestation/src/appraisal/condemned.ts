/** Whether an advisory in force condemns an authentic device (attestation/SPEC.md §6.7). */
import { fromHex } from '../base/bytes.js';
import { Rejection } from '../base/errors.js';
import { openChecks } from '../check/checks.js';
import type { Check, CheckRule, CheckStatus } from '../check/checks.js';
import { sameChip } from '../snp/product.js';
import { tcbBelow } from '../snp/tcb.js';
import type { Tcb } from '../snp/tcb.js';
import { verifyAdvisories } from './advisories.js';
import type { Advisories, Advisory, AdvisoryPolicy, AdvisorySelector } from './advisories.js';

/** A document that the caller has read and vouches for, or a signed one, which counts by a key of the policy. */
export type SuppliedAdvisories = Advisories | Uint8Array;

export interface AdvisoryFacts {
  readonly product?: string;
  readonly reportedTcb?: Tcb;
  /** Bits set in both mitigation vectors. */
  readonly mitigations?: bigint;
  readonly versions?: readonly string[];
  readonly chip?: string;
  readonly issuers: readonly string[];
  /** The policy lists this chip by name: its owner answers for it. */
  readonly isListed: boolean;
}

const rules = {
  ADVISORY_CONDEMNED: {
    claim: 'hardware',
    expected: 'condemned by no advisory in force',
    rule: 'No advisory in force says that this product, firmware, chip or issuer is not to be relied on.',
    source: 'attestation/SPEC.md §6.7',
    action: 'use another machine; for a product or firmware of your own, list the chip in the policy',
  },
} satisfies Record<string, CheckRule>;

/** What counts of the supplied documents: by id the newest. */
export interface UsableAdvisories {
  readonly documents: readonly Advisories[];
  /** Signed documents that no key of the policy signed. */
  readonly ignored: number;
}

export async function usableAdvisories(
  supplied: readonly SuppliedAdvisories[],
  policy: AdvisoryPolicy | undefined,
): Promise<UsableAdvisories> {
  const read: (Advisories | undefined)[] = [];
  for (const one of supplied) {
    read.push(one instanceof Uint8Array ? await authenticated(one, policy?.signers ?? []) : one);
  }
  const newest = new Map<string, Advisories>();
  for (const document of read) {
    if (document === undefined) continue;
    const before = newest.get(document.id);
    if (before === undefined || before.issued < document.issued) newest.set(document.id, document);
  }
  return { documents: [...newest.values()], ignored: read.filter((document) => document === undefined).length };
}

async function authenticated(signed: Uint8Array, signers: readonly string[]): Promise<Advisories | undefined> {
  for (const signer of signers) {
    try {
      return await verifyAdvisories(signed, fromHex(signer));
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
    }
  }
  return undefined;
}

/** One check, or none where advisories are neither supplied nor demanded. @param at  Unix seconds */
export function appraiseAdvisories(
  facts: AdvisoryFacts,
  { documents, ignored }: UsableAdvisories,
  policy: AdvisoryPolicy | undefined,
  at: number,
): readonly Check[] {
  if (documents.length + ignored === 0 && policy?.demand !== 'required') return [];
  const book = openChecks(rules);
  const inForce = documents.flatMap(({ advisories }) => advisories).filter(({ since }) => since <= at);
  const hits = inForce.flatMap((advisory) => {
    const statuses = advisory.condemns
      .filter((selector) => fits(selector, facts))
      .map((selector) => statusOf(advisory, selector, facts));
    if (statuses.length === 0) return [];
    return [{ advisory, status: statuses.includes('refused') ? 'refused' : 'warned' } as const];
  });
  const newest = Math.max(...documents.map(({ issued }) => issued));
  const isOld = policy?.ageSecondsMax !== undefined && at - newest > policy.ageSecondsMax;
  const lacking = documents.length === 0 ? 'none that can be used' : isOld ? `issued ${newest}, too old` : undefined;
  const refused = hits.some(({ status }) => status === 'refused');
  const got = [
    ...hits.map(textOf),
    ...(hits.length === 0 ? [`none of ${inForce.length} in force`] : []),
    ...(lacking === undefined ? [] : [lacking]),
    ...(ignored === 0 ? [] : [`${ignored} signed by no key of the policy`]),
  ].join('; ');
  const demanded = lacking !== undefined && policy?.demand === 'required';
  const status = refused ? 'refused' : demanded ? 'missing' : hits.length > 0 || lacking ? 'warned' : 'met';
  book.settle('ADVISORY_CONDEMNED', status, got);
  return book.checks();
}

/** A chip or an issuer is condemned by name: no list of the owner's outweighs that. */
function statusOf({ effect }: Advisory, { chip, issuer }: AdvisorySelector, { isListed }: AdvisoryFacts) {
  const byName = chip !== undefined || issuer !== undefined;
  return effect === 'refuse' && (byName || !isListed) ? 'refused' : 'warned';
}

function fits(selector: AdvisorySelector, facts: AdvisoryFacts): boolean {
  const { product, below, mitigationsMissing, versions, chip, issuer } = selector;
  const wanted = mitigationsMissing === undefined ? 0n : BigInt(`0x${mitigationsMissing}`);
  return (
    (product === undefined || product === facts.product) &&
    (below === undefined || tcbBelow(facts.reportedTcb ?? {}, below).length > 0) &&
    (mitigationsMissing === undefined || ((facts.mitigations ?? 0n) & wanted) !== wanted) &&
    (versions === undefined || versions.some((version) => facts.versions?.includes(version))) &&
    (chip === undefined || (facts.chip !== undefined && sameChip(chip.toLowerCase(), facts.chip.toLowerCase()))) &&
    (issuer === undefined || facts.issuers.includes(issuer))
  );
}

function textOf({ advisory, status }: { advisory: Advisory; status: CheckStatus }): string {
  const { id, severity, standing, title, source, effect } = advisory;
  const listed = effect === 'refuse' && status === 'warned' ? ', on a chip that the policy lists' : '';
  return `${id} (${severity}, ${standing}): ${title}${listed}; ${source}`;
}
