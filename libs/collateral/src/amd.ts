/** AMD's Key Distribution Service (AMD 57230; attestation/EVIDENCE.md §2.8). */
import { hwidBytes, kdsChainUrl, kdsCrlUrl, kdsVcekUrl, tcbText, type SnpProduct, type Tcb } from '#attestation';
import { toHex } from '#attestation/base';
import { isDer, isPem } from './check.js';
import { certificateAnswerMax, chainAnswerMax, crlAnswerMax } from './limits.js';
import type { Answer, CollateralStore, Item } from './store.js';

const service = 'AMD KDS';
const day = 86_400;

type SnpKeyKind = 'vcek' | 'vlek';

export class AmdKds {
  constructor(private readonly store: CollateralStore) {}

  /** DER; kept for ever. @param chipId 64 bytes of the report; @param tcb REPORTED_TCB */
  vcek(product: SnpProduct, chipId: Uint8Array, tcb: Tcb): Promise<Answer> {
    return this.store.get(vcekItem(product, chipId, tcb));
  }

  /** PEM: intermediate, root. */
  chain(product: SnpProduct, kind: SnpKeyKind): Promise<Answer> {
    const url = kdsChainUrl(product, kind);
    const key = `amd/chain/${kind}/${product}`;
    return this.store.get({ key, url, bytesMax: chainAnswerMax, freshForSeconds: 30 * day, check: isPem(service, 2) });
  }

  /** DER. */
  crl(product: SnpProduct, kind: SnpKeyKind): Promise<Answer> {
    const url = kdsCrlUrl(product, kind);
    const key = `amd/crl/${kind}/${product}`;
    return this.store.get({ key, url, bytesMax: crlAnswerMax, freshForSeconds: day, check: isDer(service) });
  }
}

function vcekItem(product: SnpProduct, chipId: Uint8Array, tcb: Tcb): Item {
  const hwid = toHex(chipId.subarray(0, hwidBytes[product]));
  return {
    key: `amd/vcek/${product}/${hwid}/${tcbText(tcb)}`,
    url: kdsVcekUrl(product, chipId, tcb),
    bytesMax: certificateAnswerMax,
    freshForSeconds: Infinity,
    check: isDer(service),
  };
}
