/** TCP ports of the loopback interface. */
import { once } from 'node:events';
import { randomInt } from 'node:crypto';
import { connect, createServer } from 'node:net';

const [lowest, highest] = [20_000, 32_000];
const attemptsMax = 100;

/**
 * A port that nobody listens on now, below those that systems give to outgoing connections: one of these could take it
 * before its listener does.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const port = randomInt(lowest, highest);
    const server = createServer().listen(port, '127.0.0.1');
    try {
      await once(server, 'listening');
    } catch (error) {
      if (attempt === attemptsMax) throw error;
      continue;
    }
    server.close();
    await once(server, 'close');
    return port;
  }
}

export function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (result: boolean) => () => {
      socket.destroy();
      resolve(result);
    };
    socket.once('connect', end(true));
    socket.once('error', end(false));
  });
}
