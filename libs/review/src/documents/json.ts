import { utf8 } from '#attestation/base';

/** JSON that people read too, with a line feed behind it. */
export const jsonBytes = (value: object): Uint8Array => utf8(`${JSON.stringify(value, null, 2)}\n`);
