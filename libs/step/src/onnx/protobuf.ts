/** The part of the protobuf wire format that an ONNX model needs (Protocol Buffers encoding: varint, 32-bit, bytes). */
import { concatBytes, utf8 } from '#attestation/base';

/** Field `number` as a varint; negative values take ten bytes, as int64 does. */
export function varintField(number: number, value: number): Uint8Array {
  return concatBytes(varint(BigInt(number << 3)), varint(BigInt.asUintN(64, BigInt(value))));
}

export function floatField(number: number, value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setFloat32(0, value, true);
  return concatBytes(varint(BigInt((number << 3) | 5)), bytes);
}

export function bytesField(number: number, value: Uint8Array): Uint8Array {
  return concatBytes(varint(BigInt((number << 3) | 2)), varint(BigInt(value.length)), value);
}

export function stringField(number: number, value: string): Uint8Array {
  return bytesField(number, utf8(value));
}

export function messageField(number: number, ...fields: readonly Uint8Array[]): Uint8Array {
  return bytesField(number, concatBytes(...fields));
}

function varint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  for (; value > 0x7fn; value >>= 7n) bytes.push(Number(value & 0x7fn) | 0x80);
  bytes.push(Number(value));
  return Uint8Array.from(bytes);
}
