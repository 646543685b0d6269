/** What is told of a chain that is away. */
import { createServer } from 'node:http';
import { expect, it } from 'vitest';
import { CodedError } from '#attestation/base';
import { connect } from './chain.js';
import { newestLogAnchor } from './log-anchors.js';

it('tells no URL of an endpoint, whose path is a key', async () => {
  const server = createServer((_request, response) => response.writeHead(401).end('no'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const provider = connect(`http://127.0.0.1:${port}/v3/key-of-endpoint`, 1);
  const address = `0x${'11'.repeat(20)}`;
  const failure: unknown = await newestLogAnchor(provider, address, {
    origin: new Uint8Array(32),
    sender: address,
  }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(CodedError);
  const { code, detail, message } = failure as CodedError;
  expect({ code, got: detail.got }).toEqual({ code: 'CHAIN_UNREACHABLE', got: 'server response 401 Unauthorized' });
  expect(message + JSON.stringify(failure)).not.toContain('key-of-endpoint');
  provider.destroy();
  server.close();
});
