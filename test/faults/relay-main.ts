/**
 * Keeps a node's network namespace, and hands on what is dialled there on a port of the loopback interface to the same
 * port of the hub, for each port that a line of its input names. Ends with the run.
 */
import { connect, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

const hub = process.argv[2]!;

function join(from: Socket, to: Socket): void {
  from.on('error', () => undefined);
  from.once('close', () => to.destroy());
  from.pipe(to);
}

createInterface({ input: process.stdin })
  .on('line', (port) => {
    createServer((near) => {
      const far = connect(Number(port), hub);
      join(near, far);
      join(far, near);
    }).listen(Number(port), '127.0.0.1');
  })
  .once('close', () => process.exit());
process.stdout.write('ready\n');
