/** Intel's Provisioning Certification Service, version 4: all collateral of one quote. */
import { readPcsResponse, toHex, type QuoteCollateral } from '#attestation';
import { isDer, misread, text } from './check.js';
import { failure } from './failure.js';
import { chainHeaderMax, crlAnswerMax, tcbAnswerMax } from './limits.js';
import type { Answer, CollateralStore } from './store.js';

const service = 'Intel PCS';
const origin = 'https://api.trustedservices.intel.com';
const rootCrlUrl = 'https://certificates.trustedservices.intel.com/IntelSGXRootCA.der';
const day = 86_400;

/** The CA that issued the PCK certificate; its common name ends in it. */
export type PckCa = 'platform' | 'processor';

export interface IntelCollateral {
  readonly collateral: QuoteCollateral;
  /** DER: the root's list and the PCK CA's list. */
  readonly crls: readonly Uint8Array[];
  /** Some of it is older than a day because the service could not be asked. */
  readonly stale: boolean;
}

export class IntelPcs {
  constructor(private readonly store: CollateralStore) {}

  /** @param fmspc 6 bytes of the PCK certificate's extension */
  async collateral(tee: 'sgx' | 'tdx', fmspc: Uint8Array, ca: PckCa): Promise<IntelCollateral> {
    const [tcbInfo, qeIdentity, rootCrl, pckCrl] = await Promise.all([
      this.document(
        `intel/tcb/${tee}/${toHex(fmspc)}`,
        `/${tee}/certification/v4/tcb?fmspc=${toHex(fmspc).toUpperCase()}`,
        tcbHeader,
      ),
      this.document(`intel/qe/${tee}`, `/${tee}/certification/v4/qe/identity`, identityHeader),
      this.crl('intel/crl/root', rootCrlUrl),
      this.crl(`intel/crl/${ca}`, `${origin}/sgx/certification/v4/pckcrl?ca=${ca}&encoding=der`),
    ]);
    return {
      collateral: { tcbInfo: signed(tcbInfo, tcbHeader), qeIdentity: signed(qeIdentity, identityHeader) },
      crls: [rootCrl.body, pckCrl.body],
      stale: [tcbInfo, qeIdentity, rootCrl, pckCrl].some(({ stale }) => stale),
    };
  }

  private document(key: string, path: string, header: string): Promise<Answer> {
    return this.store.get({
      key,
      url: origin + path,
      bytesMax: tcbAnswerMax,
      freshForSeconds: day,
      headers: [header],
      check: (body, headers) => {
        if (!/^\{"(tcbInfo|enclaveIdentity)":\{/.test(text(body))) throw misread(service, 'a signed document', body);
        readChain(headers[header] ?? '');
      },
    });
  }

  private crl(key: string, url: string): Promise<Answer> {
    return this.store.get({ key, url, bytesMax: crlAnswerMax, freshForSeconds: day, check: isDer(service) });
  }
}

const tcbHeader = 'tcb-info-issuer-chain';
const identityHeader = 'sgx-enclave-identity-issuer-chain';

function signed(answer: Answer, header: string) {
  return readPcsResponse(text(answer.body), readChain(answer.headers[header] ?? ''));
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
