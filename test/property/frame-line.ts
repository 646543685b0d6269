/** A node's bare end of a dispatch connection: any text goes out, answers are matched by their id. */
import { connect, type Socket } from 'node:net';
import { StringDecoder } from 'node:string_decoder';

export interface FrameAnswer {
  readonly id?: unknown;
  readonly err?: unknown;
  readonly response?: unknown;
}

export interface FrameLine {
  readonly isOpen: boolean;
  send(bytes: Uint8Array | string): void;
  /** The answer with that id; null when the connection closed before, or after `milliseconds`. */
  answer(id: string, milliseconds?: number): Promise<FrameAnswer | null>;
  /** Half-closes, and waits until the other side closed too. */
  end(): Promise<void>;
}

export const framed = (text: string): string => `${text.length}#${text}`;

const patienceMilliseconds = 30_000;

export async function openLine(port: number): Promise<FrameLine> {
  const socket = connect(port, '127.0.0.1');
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  socket.on('error', () => socket.destroy());
  const closed = new Promise<null>((resolve) => socket.once('close', () => resolve(null)));
  const waiting = new Map<string, (answer: FrameAnswer) => void>();
  readFrames(socket, (answer) => waiting.get(String(answer.id))?.(answer));
  return {
    get isOpen() {
      return !socket.destroyed && socket.writable;
    },
    send: (bytes) => void (socket.destroyed || socket.write(bytes)),
    async answer(id, milliseconds = patienceMilliseconds) {
      let timer: NodeJS.Timeout | undefined;
      const told = new Promise<FrameAnswer>((resolve) => waiting.set(id, resolve));
      const late = new Promise<null>((resolve) => (timer = setTimeout(() => resolve(null), milliseconds)));
      const answer = await Promise.race([told, closed, late]);
      clearTimeout(timer);
      waiting.delete(id);
      return answer;
    },
    async end() {
      socket.end();
      await closed;
    },
  };
}

function readFrames(socket: Socket, told: (answer: FrameAnswer) => void): void {
  const decoder = new StringDecoder('utf8');
  let buffer = '';
  socket.on('data', (chunk) => {
    buffer += decoder.write(chunk);
    for (;;) {
      const at = buffer.indexOf('#');
      const end = at + 1 + Number(buffer.slice(0, at));
      if (at < 0 || buffer.length < end) return;
      told(JSON.parse(buffer.slice(at + 1, end)) as FrameAnswer);
      buffer = buffer.slice(end);
    }
  });
}
