/** A line between a browser and a control plane on which what follows an end of a job takes its time. */
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

interface SlowLine {
  readonly url: string;
  close(): void;
}

/** @param port of the control plane */
export async function openSlowLine(port: number, pauseMs: number): Promise<SlowLine> {
  const server = createServer((asked, answer) => {
    const { url, method, headers } = asked;
    const passed = request({ host: '127.0.0.1', port, path: url, method, headers }, (got) => {
      answer.writeHead(got.statusCode!, got.headers);
      if (!url!.endsWith('/events')) return void got.pipe(answer);
      answer.flushHeaders();
      slowly(got, answer, pauseMs).catch(() => answer.destroy());
    });
    answer.on('close', () => passed.destroy());
    passed.on('error', () => answer.destroy());
    asked.pipe(passed);
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function slowly(got: IncomingMessage, answer: ServerResponse, pauseMs: number): Promise<void> {
  let rest = '';
  for await (const piece of got.setEncoding('utf8')) {
    const blocks = (rest + String(piece)).split(/(?<=\n\n)/);
    rest = blocks.at(-1)!.endsWith('\n\n') ? '' : blocks.pop()!;
    for (const block of blocks) {
      answer.write(block);
      if (block.includes('"to":"failed"')) await sleep(pauseMs);
    }
  }
  answer.end(rest);
}
