import { dateOf } from '#attestation/base';

/** @param seconds unix, from year 1970 to 9999 @returns RFC 3339, UTC */
export const isoTime = (seconds: number): string => dateOf(`${seconds * 1000}`)!.replace('.000Z', 'Z');
