/**
 * The one spelling of each endorsement. A signature covers what a manifest or Intel's collateral says, not how a file spells
 * it; a bundle holds them in one spelling, so that none of its bytes could be another under the same verdict. Certificates,
 * lists, answers and advisories have no other: DER and deterministic CBOR.
 */
import { equalBytes, fromUtf8, utf8 } from '../base/bytes.js';
import { Rejection } from '../base/errors.js';
import { spellCollateralBundle } from '../intel/collateral.js';
import { spellManifest } from '../nvidia/manifest.js';
import type { EndorsementRecord } from '../records/endorsement-record.js';

const spellings = {
  rims: spellManifest,
  intel: (json: Uint8Array): Uint8Array => utf8(spellCollateralBundle(fromUtf8(json))),
} satisfies Partial<Record<keyof EndorsementRecord, (piece: Uint8Array) => Uint8Array>>;
const names = Object.keys(spellings) as (keyof typeof spellings)[];

/** What cannot be read stays as it is: its verdict says so. */
export function spelled(endorsements: EndorsementRecord): EndorsementRecord {
  const respelled = names.map((name) => [name, endorsements[name].map((piece) => spellingOf(name, piece) ?? piece)]);
  return { ...endorsements, ...Object.fromEntries(respelled) };
}

/**
 * A place, `endorsements.rims[0]`, that is spelled otherwise; undefined where there is none. What its reader cannot read
 * carries nothing: a session that needs it is refused, and without one it is named as not checked.
 */
export function misspelled(endorsements: EndorsementRecord): string | undefined {
  const isOther = (name: keyof typeof spellings, piece: Uint8Array): boolean => {
    const spelling = spellingOf(name, piece);
    return spelling !== null && !equalBytes(spelling, piece);
  };
  const places = names.flatMap((name) =>
    endorsements[name].flatMap((piece, at) => (isOther(name, piece) ? `endorsements.${name}[${at}]` : [])),
  );
  return places[0];
}

function spellingOf(name: keyof typeof spellings, piece: Uint8Array): Uint8Array | null {
  try {
    return spellings[name](piece);
  } catch (error) {
    if (error instanceof Rejection) return null;
    throw error;
  }
}
