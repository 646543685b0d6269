/**
 * What AMD's revocation lists say about a chain. They are issued by the ARK and can name an ASK or ASVK; every VCEK and
 * VLEK has serial number 0, so a single chip is never on them: that takes a deny-list or a TCB floor.
 */
import { Rejection } from '../base/errors.js';
import { parseCrl, revocationOf, verifyCrl } from '../x509/crl.js';
import type { Crl, RevocationState } from '../x509/crl.js';
import type { VerifiedPath } from '../x509/path.js';

export interface SnpRevocation {
  readonly state: RevocationState;
  /** The list that decided. Times in Unix seconds. */
  readonly list?: { readonly number?: string; readonly thisUpdate: number; readonly nextUpdate?: number };
  /** Unix seconds until which a supplied list is current; only where the state is `good`. */
  readonly notAfter?: number;
  /** Codes of supplied lists that were not usable; they count as absent. */
  readonly unusable: readonly string[];
}

const severity: readonly RevocationState[] = ['revoked', 'good', 'stale'];

/** @param crls  DER, untrusted */
export async function snpRevocation(
  crls: readonly Uint8Array[],
  path: VerifiedPath,
  at: number,
): Promise<SnpRevocation> {
  const unusable: string[] = [];
  const usable: Crl[] = [];
  for (const der of crls) {
    try {
      const crl = parseCrl(der);
      await verifyCrl(crl, path.root);
      usable.push(crl);
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
      unusable.push(error.code);
    }
  }
  const serials = path.certificates.slice(1, -1).map(({ serial }) => serial);
  for (const state of severity) {
    const deciding = usable.filter((candidate) => revocationOf(candidate, serials, at) === state);
    const [crl] = deciding;
    if (crl === undefined) continue;
    const { number, thisUpdate, nextUpdate } = crl;
    const list = {
      ...(number !== undefined && { number }),
      thisUpdate,
      ...(nextUpdate !== undefined && { nextUpdate }),
    };
    const ends = deciding.flatMap((one) => one.nextUpdate ?? []);
    return { state, list, unusable, ...(state === 'good' && { notAfter: Math.max(...ends) }) };
  }
  return { state: 'unknown', unusable };
}
