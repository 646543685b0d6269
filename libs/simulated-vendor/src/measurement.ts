/** What stands in a simulated guest's MEASUREMENT: the digest of a text that says so, because nothing was measured. */
import { sha384 } from '@noble/hashes/sha2.js';
import { utf8 } from '#attestation/base';

export const simulatedMeasurement: Uint8Array = sha384(utf8('SIMULATED, NOT MEASURED'));
