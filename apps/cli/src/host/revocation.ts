/**
 * Whether AMD has taken back the key that signed this chip's certificate. The lists name intermediates alone: a single
 * chip is on none (attestation/SPEC.md §5.11), which the deny-list and the floors of a policy are for.
 */
import { CollateralError } from '#attestation/base';
import type { AmdKds } from '#libs/collateral';
import type { HostCheck } from '#libs/guest';
import { readRevocationList } from '../evidence/material.js';
import { isoTime } from '../judging-time.js';

type Asked = Parameters<AmdKds['crl']>;

/** As `verifySnp` finds it; times in Unix seconds. */
interface Revocation {
  readonly state: 'good' | 'revoked' | 'stale' | 'unknown';
  /** The list that decided. */
  readonly list?: { readonly thisUpdate: number; readonly nextUpdate?: number };
  /** Codes of lists that did not verify. */
  readonly unusable: readonly string[];
}

interface RevocationLists {
  /** DER, untrusted. */
  readonly crls: readonly Uint8Array[];
  /** Where they came from, or why there is none. */
  readonly from: string;
}

/** @param file the operator's own; else AMD's service is asked; @throws ConfigurationError FILE_* */
export async function revocationLists(
  kds: AmdKds,
  [product, kind]: Asked,
  file: string | undefined,
): Promise<RevocationLists> {
  if (file !== undefined) return { crls: [readRevocationList(file)], from: file };
  try {
    return { crls: [(await kds.crl(product, kind)).body], from: 'AMD’s service' };
  } catch (error) {
    if (!(error instanceof CollateralError)) throw error;
    return { crls: [], from: `${error.code}: ${error.detail.got}` };
  }
}

const list = {
  name: 'revocation list',
  expected: 'a current list of AMD’s that does not name the key above this chip’s',
};
const another = 'let this machine reach AMD’s service, or give a current list: --crl';

/** What the lists said when the report was judged with them. */
export function revocationCheck(revocation: Revocation, lists: RevocationLists): HostCheck {
  const { state, list: deciding, unusable } = revocation;
  const { from, crls } = lists;
  const end = deciding?.nextUpdate === undefined ? 'with no end' : `until ${isoTime(deciding.nextUpdate)}`;
  const window = deciding === undefined ? '' : `, of ${isoTime(deciding.thisUpdate)} ${end}`;
  switch (state) {
    case 'good':
      return { ...list, state: 'ok', found: `${from}: not revoked${window}`, action: '' };
    case 'revoked': {
      const action =
        'do not run guests on this machine: AMD vouches for it no longer; ask its vendor, and see AMD’s bulletins';
      return { ...list, state: 'missing', found: `${from}: REVOKED${window}`, action };
    }
    case 'stale':
      return {
        ...list,
        state: 'warning',
        found: `not checked: the list is not current: ${from}${window}`,
        action: another,
      };
    case 'unknown': {
      const why = crls.length === 0 ? from : `${from} is not usable: ${unusable.join(', ') || 'it is of another key'}`;
      return { ...list, state: 'warning', found: `not checked: ${why}`, action: another };
    }
  }
}

/** Of a report that nobody vouches for. */
export const revocationUnasked: HostCheck = {
  ...list,
  state: 'skipped',
  found: 'not checked: nothing vouches for the report',
  action: 'see VCEK certificate above',
};
