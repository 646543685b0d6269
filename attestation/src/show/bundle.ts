/** The parts of a bundle as bytes with named fields: what a reader is shown byte by byte. Read, not judged. */
import { toHex, utf8 } from '../base/bytes.js';
import { CodedError } from '../base/errors.js';
import type { BundledEntry } from '../records/bundle-log.js';
import type { BundledSegment } from '../records/bundle-parts.js';
import { parseCertificate } from '../x509/certificate.js';
import { cborRows } from './cbor-tree.js';
import type { FieldRow } from './fields.js';
import { readSession } from './read-session.js';
import { showEvidence } from './show.js';

/** One signed or hashed thing of a bundle. */
export interface BundlePart {
  /** Stable: `session-0/cpu`, `terms`, `segment-2/receipt`. */
  readonly id: string;
  readonly title: string;
  readonly bytes: Uint8Array;
  /** Offsets count from the start of `bytes`; empty where nothing is known of their inside. */
  readonly fields: () => readonly FieldRow[];
}

interface ShownBundle {
  readonly spec: Uint8Array;
  readonly terms: Uint8Array;
  readonly policy: Uint8Array;
  readonly sessions: readonly { readonly evidence: Uint8Array; readonly result: Uint8Array }[];
  readonly segments: readonly BundledSegment[];
  readonly seal: { readonly bytes: Uint8Array } | null;
  readonly log?: { readonly entries: readonly BundledEntry[] } | undefined;
}

export function partsOfBundle(bundle: ShownBundle): readonly BundlePart[] {
  return [
    ...bundle.sessions.flatMap(({ evidence, result }, index) => partsOfSession(evidence, result, index)),
    cbor('spec', 'Job spec', bundle.spec),
    { id: 'terms', title: 'Escrow terms', bytes: bundle.terms, fields: () => words(bundle.terms) },
    cbor('policy', 'Policy in the bundle', bundle.policy),
    ...bundle.segments.flatMap(partsOfSegment),
    ...(bundle.seal === null ? [] : [opaque('seal', 'Seal', bundle.seal.bytes)]),
    ...(bundle.log?.entries ?? []).flatMap(partsOfEntry),
  ];
}

function partsOfSession(evidence: Uint8Array, result: Uint8Array, index: number): BundlePart[] {
  const { cpu, gpus } = readSession(evidence);
  const id = `session-${index}`;
  const of = `Session ${index}`;
  const kind = cpu.kind === 'tdx' ? 'tdx' : 'snp';
  const isSimulated = cpu.kind === 'simulated-snp';
  const title = isSimulated ? 'SIMULATED SEV-SNP report' : kind === 'tdx' ? 'TDX quote' : 'SEV-SNP report';
  return [
    shown(`${id}/cpu`, `${of}: ${title}`, cpu.report, () => showEvidence(cpu.report, kind)[0]!.fields),
    ...cpu.certificates.map((der, at) => certificate(`${id}/certificate-${at}`, `${of}: certificate ${at}`, der)),
    ...gpus.flatMap(({ report, certificates }, gpu) => [
      shown(`${id}/gpu-${gpu}`, `${of}: report of GPU ${gpu}`, report, () => showEvidence(report, 'nvidia')[0]!.fields),
      ...certificates.map((der, at) =>
        certificate(`${id}/gpu-${gpu}/certificate-${at}`, `${of}: GPU ${gpu}, certificate ${at}`, der),
      ),
    ]),
    cbor(`${id}/evidence`, `${of}: evidence as sent`, evidence),
    cbor(`${id}/result`, `${of}: the key broker’s result`, result),
  ];
}

function partsOfSegment({ statement, signed, partials }: BundledSegment, index: number): BundlePart[] {
  const of = `Segment ${index}`;
  return [
    cbor(`segment-${index}/statement`, `${of}: statement`, statement),
    ...(signed === null ? [] : [cbor(`segment-${index}/receipt`, `${of}: receipt`, signed.receipt)]),
    ...partials.flatMap((partial, worker) => [
      cbor(`segment-${index}/partial-${worker}`, `${of}: statement of worker ${worker}`, partial.statement),
      cbor(`segment-${index}/partial-${worker}/receipt`, `${of}: receipt of worker ${worker}`, partial.receipt),
    ]),
  ];
}

function partsOfEntry({ entry, opening, proof }: BundledEntry, index: number): BundlePart[] {
  const [id, of] = [`log-${index}`, `Log entry ${index}`];
  return [
    cbor(`${id}/entry`, of, entry),
    ...(opening === null ? [] : [cbor(`${id}/opening`, `${of}: what it commits to`, opening.body)]),
    opaque(`${id}/proof`, `${of}: proof and checkpoint`, utf8(proof)),
  ];
}

function certificate(id: string, title: string, der: Uint8Array): BundlePart {
  return shown(id, title, der, () => {
    const { subjectText } = parseCertificate(der);
    return [{ name: 'CERTIFICATE', offset: 0, size: der.length, value: toHex(der), meaning: subjectText }];
  });
}

const coseParts = ['protected', 'unprotected', 'payload', 'signature'];

/** Arrays of four are signed messages, whose header and payload are CBOR again where they can be read so. */
function cbor(id: string, title: string, bytes: Uint8Array): BundlePart {
  const isMessage = bytes[0] === 0xd2;
  const nameOf = (parent: string, key: string): string =>
    parent === '' ? (isMessage ? (coseParts[Number(key)] ?? key) : key) : `${parent}.${key}`;
  return shown(id, title, bytes, () =>
    cborRows(bytes, { nameOf, holdsCbor: (name) => isMessage && name === 'protected' }),
  );
}

/** ABI: words of 32 bytes. */
function words(bytes: Uint8Array): FieldRow[] {
  return Array.from({ length: Math.ceil(bytes.length / 32) }, (_, index) => {
    const word = bytes.subarray(32 * index, 32 * index + 32);
    return { name: `word ${index}`, offset: 32 * index, size: word.length, value: toHex(word) };
  });
}

function opaque(id: string, title: string, bytes: Uint8Array): BundlePart {
  return shown(id, title, bytes, () => []);
}

/** What cannot be read is still shown as bytes. */
function shown(id: string, title: string, bytes: Uint8Array, read: () => readonly FieldRow[]): BundlePart {
  const fields = (): readonly FieldRow[] => {
    const whole = { name: 'all', offset: 0, size: bytes.length, value: toHex(bytes) };
    try {
      const rows = read();
      return rows.length === 0 ? [whole] : rows;
    } catch (error) {
      if (error instanceof CodedError) return [{ ...whole, meaning: `cannot be read: ${error.message}` }];
      throw error;
    }
  };
  return { id, title, bytes, fields };
}
