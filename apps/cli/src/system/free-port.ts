/**
 * A TCP port of the loopback interface that nobody listens on now, below those that systems give to outgoing connections:
 * one of these could take it before its listener does.
 */
import { once } from 'node:events';
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

const [lowest, highest] = [20_000, 32_000];
const attemptsMax = 100;

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
