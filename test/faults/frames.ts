/**
 * Messages in a stream of the NATS protocol, so that single ones can be lost, doubled or late while the connection
 * stands. What is no message goes through as it is.
 * @source docs.nats.io, NATS client protocol: PUB, HPUB, MSG, HMSG end in the size of what follows their line
 */
export interface Piece {
  readonly bytes: Buffer;
  readonly isMessage: boolean;
}

const lineEnd = Buffer.from('\r\n');
const withPayload = /^(?:PUB|HPUB|MSG|HMSG) (?:.* )?(\d+)$/i;

/** @returns a function that takes what came and gives what is complete */
export function natsPieces(): (chunk: Buffer) => Piece[] {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    const pieces: Piece[] = [];
    for (;;) {
      const end = rest.indexOf(lineEnd);
      if (end < 0) return pieces;
      const size = withPayload.exec(rest.subarray(0, end).toString('latin1'))?.[1];
      const length = end + 2 + (size === undefined ? 0 : Number(size) + 2);
      if (rest.length < length) return pieces;
      pieces.push({ bytes: Buffer.from(rest.subarray(0, length)), isMessage: size !== undefined });
      rest = rest.subarray(length);
    }
  };
}
