import { describe, expect, it } from 'vitest';
import { parseCollateralBundle, readPcsResponse } from './collateral.js';

const signature = 'ab'.repeat(64);
const file = {
  ...{ root_ca_crl: '30ab', pck_crl: '30cd' },
  ...{ tcb_info_issuer_chain: 'chain', tcb_info: '{}', tcb_info_signature: signature },
  ...{ qe_identity_issuer_chain: 'chain', qe_identity: '{}', qe_identity_signature: signature },
};

describe('collateral in hexadecimal digits', () => {
  it('is read as Intel writes it', () => {
    expect(parseCollateralBundle(JSON.stringify(file)).crls).toEqual([
      Uint8Array.of(0x30, 0xab),
      Uint8Array.of(0x30, 0xcd),
    ]);
  });

  it.each(['root_ca_crl', 'pck_crl', 'tcb_info_signature', 'qe_identity_signature'] as const)(
    'has one spelling of %s',
    (name) => {
      const spelled = (digits: string) => () => parseCollateralBundle(JSON.stringify({ ...file, [name]: digits }));
      expect(spelled(file[name].toUpperCase())).toThrow(expect.objectContaining({ code: 'BYTES_HEX' }));
      expect(spelled(`0x${file[name].slice(2)}`)).toThrow(expect.objectContaining({ code: 'BYTES_HEX' }));
    },
  );

  it('has one spelling in an answer of Intel’s service', () => {
    const answer = (digits: string) => `{"tcbInfo":{},"signature":"${digits}"}`;
    expect(readPcsResponse(answer(signature)).signature).toHaveLength(64);
    const refused = expect.objectContaining({ code: 'QUOTE_COLLATERAL_FORMAT' });
    expect(() => readPcsResponse(answer(signature.toUpperCase()))).toThrow(refused);
  });
});
