import { expect, it } from 'vitest';
import { protocolVersion } from '#libs/wire';
import { parseAcquired, parseBeat, parseRegistered } from './answers.js';

const id = '11111111-1111-4111-8111-111111111111';
const word = `0x${'00'.repeat(32)}`;
const job = {
  jobId: word,
  escrowId: word,
  spec: 'AQ==',
  terms: { price: '1', windows: { start: 1 }, dutySelectors: [] },
  policy: 'AQ==',
  brokerUrl: 'http://127.0.0.1:1',
  datasetManifest: { any: 'thing' },
  resume: null,
};
const grant = { leaseId: id, fence: 1, expiresAt: 1, job };

it('reads what a control plane of this version says', () => {
  expect(parseAcquired(grant)).toEqual(grant);
  expect(parseAcquired(null)).toBeNull();
  expect(parseAcquired(undefined)).toBeNull();
  expect(parseBeat({ cancel: [id], lost: [] })).toEqual({ cancel: [id], lost: [] });
  const registered = { nodeId: id, heartbeatSeconds: 5, leaseSeconds: 15, protocol: protocolVersion };
  expect(parseRegistered(registered)).toEqual(registered);
});

it.each<[string, () => unknown]>([
  ['a number as a grant', () => parseAcquired(7)],
  ['a grant without a job', () => parseAcquired({ ...grant, job: null })],
  ['a job id of another form', () => parseAcquired({ ...grant, job: { ...job, jobId: '0x00' } })],
  ['a lease id that is a path', () => parseAcquired({ ...grant, leaseId: '../x' })],
  ['terms that are a list', () => parseAcquired({ ...grant, job: { ...job, terms: [] } })],
  ['a spec beyond its limit', () => parseAcquired({ ...grant, job: { ...job, spec: 'A'.repeat(200_000) } })],
  ['a heartbeat without lists', () => parseBeat({})],
  ['a heartbeat of nothing', () => parseBeat(null)],
  ['a heartbeat with endless lists', () => parseBeat({ cancel: Array<string>(65).fill(id), lost: [] })],
  ['a registration of nothing', () => parseRegistered(undefined)],
  ['a pause of no time', () => parseRegistered({ nodeId: id, heartbeatSeconds: 0, leaseSeconds: 1 })],
  ['a pause that never ends', () => parseRegistered({ nodeId: id, heartbeatSeconds: 1e9, leaseSeconds: 1 })],
])('CONTROL_PLANE_ANSWER: %s', (_, parse) => {
  expect(parse).toThrow(expect.objectContaining({ code: 'CONTROL_PLANE_ANSWER' }));
});

it('PROTOCOL_VERSION: a control plane two versions ahead, of the former release, or that says nothing is not spoken to', () => {
  const answer = { nodeId: id, heartbeatSeconds: 5, leaseSeconds: 15 };
  for (const other of [{ protocol: protocolVersion + 2 }, { protocol: 2 }, {}]) {
    expect(() => parseRegistered({ ...answer, ...other })).toThrow(
      expect.objectContaining({ code: 'PROTOCOL_VERSION' }),
    );
  }
  expect(parseRegistered({ ...answer, protocol: protocolVersion + 1 })).toHaveProperty('protocol', protocolVersion + 1);
});
