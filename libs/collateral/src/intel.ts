/** Intel's Provisioning Certification Service, version 4. */
import { readPcsResponse, type SignedDocument } from '#attestation';
import { Rejection, toHex } from '#attestation/base';
import { isDer, misread, text } from './check.js';
import { failure } from './failure.js';
import { chainHeaderMax, crlAnswerMax, tcbAnswerMax } from './limits.js';
import type { Answer, CollateralStore } from './store.js';

const service = 'Intel PCS';
const origin = 'https://api.trustedservices.intel.com';
const rootCrlUrl = 'https://certificates.trustedservices.intel.com/IntelSGXRootCA.der';
const day = 86_400;

/** The CA that issued the PCK certificate; its common name ends in it. */
type PckCa = 'platform' | 'processor';

interface SignedAnswer {
  readonly document: SignedDocument;
  /** See `Answer.stale`. */
  readonly stale: boolean;
}

export class IntelPcs {
  constructor(private readonly store: CollateralStore) {}

  /** @param fmspc 6 bytes of the PCK certificate's extension */
  tcbInfo(tee: 'sgx' | 'tdx', fmspc: Uint8Array): Promise<SignedAnswer> {
    const platform = toHex(fmspc);
    const path = `/${tee}/certification/v4/tcb?fmspc=${platform.toUpperCase()}`;
    return this.document(`intel/tcb/${tee}/${platform}`, path, tcbHeader);
  }

  qeIdentity(tee: 'sgx' | 'tdx'): Promise<SignedAnswer> {
    return this.document(`intel/qe/${tee}`, `/${tee}/certification/v4/qe/identity`, identityHeader);
  }

  /** DER. */
  rootCrl(): Promise<Answer> {
    return this.crl('intel/crl/root', rootCrlUrl);
  }

  /** DER. */
  pckCrl(ca: PckCa): Promise<Answer> {
    return this.crl(`intel/crl/${ca}`, `${origin}/sgx/certification/v4/pckcrl?ca=${ca}&encoding=der`);
  }

  private async document(key: string, path: string, header: string): Promise<SignedAnswer> {
    const answer = await this.store.get({
      key,
      url: origin + path,
      bytesMax: tcbAnswerMax,
      freshForSeconds: day,
      headers: [header],
      check: (body, headers) => void readDocument(body, headers[header] ?? ''),
    });
    return { document: readDocument(answer.body, answer.headers[header] ?? ''), stale: answer.stale };
  }

  private crl(key: string, url: string): Promise<Answer> {
    return this.store.get({ key, url, bytesMax: crlAnswerMax, freshForSeconds: day, check: isDer(service) });
  }
}

const tcbHeader = 'tcb-info-issuer-chain';
const identityHeader = 'sgx-enclave-identity-issuer-chain';

function readDocument(body: Uint8Array, header: string): SignedDocument {
  const chain = readChain(header);
  try {
    return readPcsResponse(text(body), chain);
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    throw misread(service, error.detail.expected, body);
  }
}

/** Percent-encoded PEM. */
function readChain(value: string): string {
  try {
    const pem = decodeURIComponent(value);
    if (value.length <= chainHeaderMax && pem.includes('-----BEGIN CERTIFICATE-----')) return pem;
  } catch {
    // falls through to the same failure
  }
  throw failure(
    'COLLATERAL_FORMAT',
    'a certificate chain in the header',
    value.slice(0, 40),
    service,
    'use another mirror',
  );
}
