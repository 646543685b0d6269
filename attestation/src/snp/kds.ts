/** Addresses at AMD's Key Distribution Service (AMD 57230). Only text: nothing here is fetched. */
import { toHex } from '../base/bytes.js';
import { hwidBytes } from './product.js';
import type { SnpProduct } from './product.js';
import type { Tcb } from './tcb.js';

const host = 'https://kdsintf.amd.com';

/** PEM: the intermediate, then the root. */
export function kdsChainUrl(product: SnpProduct, kind: 'vcek' | 'vlek'): string {
  return `${host}/${kind}/v1/${product}/cert_chain`;
}

/** DER, signed by the product's root. */
export function kdsCrlUrl(product: SnpProduct, kind: 'vcek' | 'vlek'): string {
  return `${host}/${kind}/v1/${product}/crl`;
}

/**
 * DER of the VCEK of one chip at one TCB; the answer never changes in its key, so it may be kept for ever.
 * @param chipId  CHIP_ID of the report, 64 bytes
 * @param tcb     REPORTED_TCB
 */
export function kdsVcekUrl(product: SnpProduct, chipId: Uint8Array, tcb: Tcb): string {
  const spl = (name: string, value: number | undefined): string => `${name}SPL=${String(value ?? 0).padStart(2, '0')}`;
  const query = [spl('bl', tcb.bootLoader), spl('tee', tcb.tee), spl('snp', tcb.snp), spl('ucode', tcb.microcode)];
  if (product === 'Turin') query.unshift(spl('fmc', tcb.fmc));
  return `${host}/vcek/v1/${product}/${toHex(chipId.subarray(0, hwidBytes[product]))}?${query.join('&')}`;
}
