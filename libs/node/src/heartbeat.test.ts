import { expect, it } from 'vitest';
import { Rejection } from '#attestation/base';
import { pattern, protocolVersion } from '#libs/wire';
import { beat, type NodeOffer } from './heartbeat.js';

const nodeId = '7e5c1b9e-2f0c-4a39-8c84-3f3f8a1d2b6c';
const offer: NodeOffer = {
  ...{ name: 'node', protocol: protocolVersion, provider: `0x${'01'.repeat(20)}` },
  capabilities: { tee: 'none', cores: 1, memoryMiB: 64, version: '0.1.0' },
};
const answer = { cancel: [], lost: [] };

/** Refuses the first heartbeats with these codes. @returns what is sent to it */
function controlPlane(...codes: readonly string[]) {
  const left = [...codes];
  const sent: unknown[] = [];
  const send = (name: string, payload: object): Promise<unknown> => {
    sent.push([name, payload]);
    const code = name === pattern.nodeHeartbeat ? left.shift() : undefined;
    if (code !== undefined) throw new Rejection(code, { expected: 'another', got: 'this', rule: 'test' });
    return Promise.resolve(answer);
  };
  return { sent, beat: () => beat({ send }, offer, { nodeId, leases: [] }) };
}

const beaten = [pattern.nodeHeartbeat, { nodeId, leases: [] }];

it('asks once where the node is known', async () => {
  const known = controlPlane();
  expect(await known.beat()).toEqual(answer);
  expect(known.sent).toEqual([beaten]);
});

it('registers a node that was forgotten again, and asks again', async () => {
  const forgetful = controlPlane('NODE_UNKNOWN');
  expect(await forgetful.beat()).toEqual(answer);
  expect(forgetful.sent).toEqual([beaten, [pattern.nodeRegister, offer], beaten]);
});

it('gives up where the node stays unknown, or is refused for something else', async () => {
  await expect(controlPlane('NODE_UNKNOWN', 'NODE_UNKNOWN').beat()).rejects.toThrow('NODE_UNKNOWN');
  const other = controlPlane('AUTH_UNKNOWN');
  await expect(other.beat()).rejects.toThrow('AUTH_UNKNOWN');
  expect(other.sent).toEqual([beaten]);
});
