/** Bodies of HTTP answers, with a limit: the other side is whoever a job names. */
import { Rejection } from '#attestation/base';

/** @throws Rejection ANSWER_TOO_LARGE as soon as more than `bytesMax` bytes have come */
export async function readBody(response: Response, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > bytesMax) {
      throw new Rejection('ANSWER_TOO_LARGE', {
        expected: `at most ${bytesMax} bytes from ${new URL(response.url).host}`,
        got: 'more',
        rule: 'limits of answers',
      });
    }
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
}
