/**
 * The enclave's process: one host connection, framed CBOR, nothing else. It ends with the connection, and its keys
 * with it.
 *
 * usage: main --listen unix:PATH|tcp:[HOST:]PORT|fd:N [--peer ADDRESS[/BITS],…] [--attester snp|tdx|simulated] [--vendor FILE]
 *   [--gpus nvml|none] [--provider cpu|cuda]
 */
import { createServer, Socket } from 'node:net';
import { parseArgs } from 'node:util';
import { ConfigurationError } from '#attestation/base';
import { openAttester, openGpus } from './attesters/open.js';
import { readPeers } from './channel/peers.js';
import { serveConnection } from './channel/serve.js';
import { chooseProvider, chosenProvider } from '#libs/onnx';
import { selfTestOfDevice } from './engine/self-test.js';
import { failureOf } from './failure.js';
import { createSession } from './session.js';

try {
  const { values } = parseArgs({
    options: {
      listen: { type: 'string' },
      peer: { type: 'string' },
      attester: { type: 'string', default: 'snp' },
      vendor: { type: 'string' },
      gpus: { type: 'string', default: 'none' },
      provider: { type: 'string', default: 'cpu' },
    },
  });
  const address = addressOf(values.listen);
  const isPeer = 'host' in address ? readPeers(address.host, values.peer) : () => true;
  chooseProvider(values.provider);
  await selfTestOfDevice(chosenProvider());
  const cpu = await openAttester(values.attester, values.vendor);
  const gpus = await openGpus(values.gpus);
  const machine = { cpu, ...(gpus && { gpus }) };
  const serve = (socket: Socket): void => {
    socket.once('close', () => process.exit(0));
    serveConnection(socket, (emit) => createSession(machine, emit));
  };
  if ('fd' in address) {
    serve(new Socket({ ...address, readable: true, writable: true }));
  } else {
    const server = createServer((socket) => {
      if (!isPeer(socket.remoteAddress)) return void socket.destroy();
      server.close();
      serve(socket);
    });
    server.listen(address);
  }
} catch (error) {
  process.stderr.write(`${JSON.stringify(failureOf(error))}\n`);
  process.exitCode = 1;
}

function addressOf(listen: string | undefined): { path: string } | { host: string; port: number } | { fd: number } {
  const [, fd] = /^fd:(\d{1,4})$/.exec(listen ?? '') ?? [];
  if (fd !== undefined) return { fd: Number(fd) };
  const [, path] = /^unix:(.+)$/.exec(listen ?? '') ?? [];
  if (path !== undefined) return { path };
  const [, host = '127.0.0.1', port] = /^tcp:(?:(.+):)?(\d+)$/.exec(listen ?? '') ?? [];
  if (port !== undefined) return { host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port) };
  throw new ConfigurationError('ENCLAVE_LISTEN', {
    expected: '--listen unix:PATH, tcp:[HOST:]PORT or fd:N',
    got: listen ?? 'nothing',
    rule: 'enclave/SPEC.md, start',
  });
}
