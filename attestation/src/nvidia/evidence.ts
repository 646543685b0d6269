/** The JSON form in which NVIDIA's tools exchange GPU evidence (attestation/EVIDENCE.md §6); one entry per GPU. */
import { fromBase64, fromHex, fromUtf8 } from '../base/bytes.js';
import { Rejection } from '../base/errors.js';
import { gpuCountMax, gpuEvidenceBytesMax } from './constants.js';

export interface GpuEvidenceEntry {
  readonly arch: 'HOPPER' | 'BLACKWELL';
  /** What the sender says the nonce was, 32 bytes; only the one inside the signed report counts. */
  readonly nonce: Uint8Array;
  readonly report: Uint8Array;
  /** PEM text, leaf first. */
  readonly certificateChain: string;
}

/**
 * @param json UTF-8 of [{ arch, nonce: hex, evidence: base64, certificate: base64 of PEM }, …] or of one such object
 * @throws Rejection NVIDIA_EVIDENCE_SIZE, NVIDIA_EVIDENCE_FORM, BYTES_HEX, BYTES_BASE64, BYTES_UTF8
 */
export function parseGpuEvidence(json: Uint8Array): GpuEvidenceEntry[] {
  if (json.length > gpuEvidenceBytesMax) {
    throw bad('NVIDIA_EVIDENCE_SIZE', `at most ${gpuEvidenceBytesMax} bytes`, `${json.length}`);
  }
  const value = parseJson(json);
  const entries: unknown[] = Array.isArray(value) ? value : [value];
  if (entries.length === 0 || entries.length > gpuCountMax) {
    throw bad('NVIDIA_EVIDENCE_FORM', `1 to ${gpuCountMax} GPUs`, `${entries.length}`);
  }
  return entries.map(readEntry);
}

function readEntry(value: unknown): GpuEvidenceEntry {
  const entry = new Map<string, unknown>(Object.entries(value !== null && typeof value === 'object' ? value : {}));
  const text = (key: string): string => {
    const found = entry.get(key);
    if (typeof found !== 'string') throw bad('NVIDIA_EVIDENCE_FORM', `text in ${key}`, typeof found);
    return found;
  };
  const arch = text('arch');
  if (arch !== 'HOPPER' && arch !== 'BLACKWELL') throw bad('NVIDIA_EVIDENCE_FORM', 'HOPPER or BLACKWELL', arch);
  const nonce = fromHex(text('nonce'));
  if (nonce.length !== 32) throw bad('NVIDIA_EVIDENCE_FORM', 'a nonce of 32 bytes', `${nonce.length}`);
  const certificateChain = fromUtf8(fromBase64(text('certificate')));
  return { arch, nonce, report: fromBase64(text('evidence')), certificateChain };
}

function parseJson(bytes: Uint8Array): unknown {
  const text = fromUtf8(bytes);
  try {
    return JSON.parse(text);
  } catch {
    throw bad('NVIDIA_EVIDENCE_FORM', 'JSON', 'another text');
  }
}

function bad(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, { expected, got: got.slice(0, 40), rule: 'attestation/EVIDENCE.md §6' });
}
