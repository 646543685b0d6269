/** NVIDIA's RIM service and OCSP responder (attestation/EVIDENCE.md §3.4, §3.5). */
import { createHash } from 'node:crypto';
import { isDer, misread, text } from './check.js';
import { failure } from './failure.js';
import { ocspAnswerMax, rimAnswerMax } from './limits.js';
import { ocspRequest, type OcspIssuer, type OcspSubject } from './ocsp-request.js';
import type { Answer, CollateralStore } from './store.js';

const rimService = 'NVIDIA RIM';
const ocspService = 'NVIDIA OCSP';
const rimOrigin = 'https://rim.attestation.nvidia.com';
const ocspUrl = 'https://ocsp.ndis.nvidia.com/';
const hour = 3_600;

export class NvidiaServices {
  constructor(private readonly store: CollateralStore) {}

  /**
   * XML of one reference integrity manifest; kept for ever.
   * @param id  for example `NV_GPU_DRIVER_GH100_550.90.07`
   * @throws CollateralError COLLATERAL_NOT_FOUND when `id` is none, and those of the store
   */
  async rim(id: string): Promise<Uint8Array> {
    if (!/^[A-Za-z0-9_.-]{1,128}$/.test(id)) {
      throw failure('COLLATERAL_NOT_FOUND', 'a RIM id', JSON.stringify(id.slice(0, 40)), rimService, 'check the id');
    }
    const answer = await this.store.get({
      key: `nvidia/rim/${id}`,
      url: `${rimOrigin}/v1/rim/${id}`,
      bytesMax: rimAnswerMax,
      freshForSeconds: Infinity,
      check: (body) => void readRim(id, body),
    });
    return readRim(id, answer.body);
  }

  /**
   * OCSPResponse, DER. With a nonce the responder is always asked; without, an answer of the last hour serves.
   * @param nonce  1 to 32 bytes
   */
  ocsp(subject: OcspSubject, issuer: OcspIssuer, nonce?: Uint8Array): Promise<Answer> {
    const body = ocspRequest(subject, issuer, nonce);
    return this.store.get({
      key: `nvidia/ocsp/${createHash('sha256').update(body).digest('hex')}`,
      url: ocspUrl,
      bytesMax: ocspAnswerMax,
      freshForSeconds: nonce === undefined ? hour : 0,
      post: { type: 'application/ocsp-request', body },
      check: isDer(ocspService),
    });
  }
}

/** JSON { id, rim: base64, sha256: hex of the XML }. */
function readRim(id: string, body: Uint8Array): Uint8Array {
  const answer = parseJson(body);
  if (answer?.['id'] !== id || typeof answer['rim'] !== 'string') throw misread(rimService, `the RIM ${id}`, body);
  const xml = Buffer.from(answer['rim'], 'base64');
  const digest = createHash('sha256').update(xml).digest('hex');
  if (String(answer['sha256']).toLowerCase() !== digest) throw misread(rimService, `SHA-256 ${digest}`, body);
  return new Uint8Array(xml);
}

function parseJson(body: Uint8Array): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text(body));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
