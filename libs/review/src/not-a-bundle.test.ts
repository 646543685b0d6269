/** What is said of files that are no bundle, or no longer a whole one: what they are, and what to do. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { CodedError, utf8 } from '#attestation/base';
import { fixturePath } from '#test/fixture';
import { reviewBundle } from './judge.js';

const bundle = new Uint8Array(readFileSync(fixturePath('bundles/version-4.cbor')));

const said = (bytes: Uint8Array): Promise<unknown> =>
  reviewBundle({ bundle: bytes }).then(
    () => 'a verdict',
    (error: unknown) => (error instanceof CodedError ? { code: error.code, ...error.detail } : error),
  );

it.each([
  ['empty', new Uint8Array(), 'this is none: the file is empty'],
  ['text', utf8('# Read me\n'), 'this is none: text'],
  ['JSON', utf8('{"a": 1}'), 'this is none: JSON'],
  ['a model', Uint8Array.of(8, 8, 0x12, 7, 0, 0), 'this is none: 6 bytes of another kind'],
  ['a report', Uint8Array.of(0xd2, 0x84), 'this is none: a signed document, such as a report'],
  ['cut off', bundle.subarray(0, 1000), 'cut off after 1000 bytes, or altered: '],
  ['too long', Uint8Array.of(...bundle, 0), '1 bytes behind its end: something was appended, or altered'],
])('says of what is %s what it is and what to do', async (_name, bytes, got) => {
  expect(await said(bytes)).toMatchObject({
    code: 'CBOR_MALFORMED',
    got: expect.stringContaining(got) as unknown,
    action: expect.stringMatching(/job\.vtb|ask whoever made the file/) as unknown,
  });
});
