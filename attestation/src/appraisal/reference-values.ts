/** Measurements that somebody vouches for, as a signed document of their own: they change more often than a policy. */
import { readDocumentText, signDocument, verifyDocument } from '../check/document.js';
import { hex, integer, list, object, oneOf, optional, text } from '../check/schema.js';
import type { Described } from '../check/schema.js';
import type { QuotePolicy } from '../intel/policy.js';
import type { AppraisalPolicy } from './policy.js';

const measured = (...sizes: readonly number[]) => list(object({ digest: hex(...sizes), label: text() }));
const fields = {
  version: oneOf(1),
  id: text(),
  /** Unix seconds. */
  notBefore: integer(),
  notAfter: optional(integer()),
  /** SNP MEASUREMENT. */
  snpMeasurements: measured(48),
  snpIdKeyDigests: measured(48),
  /** MRTD or MRENCLAVE. */
  quoteMeasurements: measured(32, 48),
  /** RTMR0 to RTMR3 of a TD. */
  quoteRtmrs: optional(list(object({ register: integer(0, 3), digest: hex(48), label: text() }))),
  /** Fields of the TD report. */
  quoteMrConfigIds: optional(measured(48)),
  quoteMrOwners: optional(measured(48)),
  quoteMrOwnerConfigs: optional(measured(48)),
  quoteMrServiceTds: optional(measured(48)),
  /** SGX. */
  quoteMrSigners: optional(measured(32)),
};
const referenceValuesNode = object(fields);
export type ReferenceValues = Described<typeof fields>;

const contentType = 'application/veritrain-reference-values+cbor';

/** @throws Rejection DOCUMENT_* */
export function parseReferenceValues(json: string): ReferenceValues {
  return readDocumentText(referenceValuesNode, json);
}

export function signReferenceValues(
  values: ReferenceValues,
  keyId: Uint8Array,
  sign: (toBeSigned: Uint8Array) => Uint8Array | Promise<Uint8Array>,
): Promise<Uint8Array> {
  return signDocument(values, contentType, keyId, sign);
}

/** @throws Rejection COSE_*, CBOR_*, DOCUMENT_* */
export function verifyReferenceValues(bytes: Uint8Array, publicKey: Uint8Array): Promise<ReferenceValues> {
  return verifyDocument(referenceValuesNode, bytes, contentType, publicKey);
}

/** The policy with the values in force at `at` added to its lists; a list that appears thereby is demanded. */
export function withReferenceValues(policy: AppraisalPolicy, values: ReferenceValues, at: number): AppraisalPolicy {
  const inForce = values.notBefore <= at && at <= (values.notAfter ?? Infinity);
  const merge: Merge = (own, more = []) =>
    own === undefined && more.length === 0
      ? undefined
      : [...(own ?? []), ...(inForce ? more.map(({ digest }) => digest) : [])];
  const measurements = merge(policy.snp.measurements, values.snpMeasurements);
  const idKeyDigests = merge(policy.snp.idKeyDigests, values.snpIdKeyDigests);
  return {
    ...policy,
    snp: { ...policy.snp, ...(measurements && { measurements }), ...(idKeyDigests && { idKeyDigests }) },
    quote: { ...policy.quote, ...quoteLists(policy.quote, values, merge) },
  };
}

type Merge = (
  own: readonly string[] | undefined,
  more: readonly { readonly digest: string }[] | undefined,
) => readonly string[] | undefined;

function quoteLists(own: AppraisalPolicy['quote'], values: ReferenceValues, merge: Merge): Partial<QuotePolicy> {
  const registers = [0, 1, 2, 3].map((n) => [
    n,
    merge(
      own.rtmrs?.[n],
      values.quoteRtmrs?.filter(({ register }) => register === n),
    ),
  ]);
  const stated = registers.filter(([, list]) => list !== undefined);
  const lists: Partial<QuotePolicy> = {
    measurements: merge(own.measurements, values.quoteMeasurements),
    mrConfigId: merge(own.mrConfigId, values.quoteMrConfigIds),
    mrOwner: merge(own.mrOwner, values.quoteMrOwners),
    mrOwnerConfig: merge(own.mrOwnerConfig, values.quoteMrOwnerConfigs),
    mrServiceTd: merge(own.mrServiceTd, values.quoteMrServiceTds),
    mrSigners: merge(own.mrSigners, values.quoteMrSigners),
    ...(stated.length > 0 && { rtmrs: Object.fromEntries(stated) }),
  } as Partial<QuotePolicy>;
  return Object.fromEntries(Object.entries(lists).filter(([, list]) => list !== undefined));
}
