/**
 * Frames of the enclave's local channel: u32 big-endian length ‖ deterministic CBOR. The stream carries nothing else,
 * so a frame that is too long or does not parse ends the connection.
 */
import { concatBytes, decodeCanonical, encodeCanonical, Rejection, toCbor, uintBe } from '#attestation/base';

const lengthBytes = 4;

/** One frame: a shard of a data set or a checkpoint, with room around it. */
export const frameBytesMax = 16 * 1024 * 1024 - lengthBytes;

export function encodeFrame(message: unknown): Uint8Array {
  const body = encodeCanonical(toCbor(message));
  if (body.length > frameBytesMax) throw tooLong(body.length);
  return concatBytes(uintBe(body.length, lengthBytes), body);
}

interface FrameDecoder {
  /** Feeds received bytes; returns the messages that are complete now. @throws Rejection FRAME_TOO_LONG or CBOR_* */
  push(chunk: Uint8Array): unknown[];
}

export function frameDecoder(): FrameDecoder {
  let chunks: Uint8Array[] = [];
  let buffered = 0;
  return {
    push(chunk) {
      chunks.push(chunk);
      buffered += chunk.length;
      const messages: unknown[] = [];
      for (;;) {
        if (buffered < lengthBytes) return messages;
        if (chunks[0]!.length < lengthBytes) chunks = [concatBytes(...chunks)];
        const head = chunks[0]!;
        const length = new DataView(head.buffer, head.byteOffset).getUint32(0);
        if (length > frameBytesMax) throw tooLong(length);
        if (buffered < lengthBytes + length) return messages;
        const all = concatBytes(...chunks);
        messages.push(decodeCanonical(all.subarray(lengthBytes, lengthBytes + length)));
        const rest = all.subarray(lengthBytes + length);
        chunks = rest.length === 0 ? [] : [rest];
        buffered = rest.length;
      }
    },
  };
}

function tooLong(length: number): Rejection {
  return new Rejection('FRAME_TOO_LONG', {
    expected: `a frame of at most ${frameBytesMax} bytes`,
    got: `${length} bytes`,
    rule: 'enclave/SPEC.md, channel',
    action: 'send large objects in parts',
  });
}
