/** One control plane replica for the load bench, in a process of its own: PostgreSQL at argv[2], no chain to follow. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '#libs/telemetry';
import { readConfig } from '../../../apps/control-plane/src/core/config/config.js';
import { startControlPlane } from '../../../apps/control-plane/src/server.js';
import { createHash } from 'node:crypto';
import { loadKeys, loadProvider } from './keys.js';

const directory = mkdtempSync(join(tmpdir(), 'veritrain-load-'));
const keysFile = join(directory, 'keys.json');
const entries = [
  { key: loadKeys.client, tenant: 'load', role: 'client', name: 'load' },
  { key: loadKeys.operator, tenant: 'host', role: 'operator', name: 'load', provider: loadProvider },
];
writeFileSync(keysFile, JSON.stringify(entries));
const { NATS_URL, VERITRAIN_NATS_NKEY } = process.env;
const config = readConfig({
  ...{ NATS_URL, VERITRAIN_NATS_NKEY },
  VERITRAIN_HTTP_PORT: '0',
  VERITRAIN_DISPATCH_PORT: '0',
  VERITRAIN_DATA_DIR: directory,
  VERITRAIN_BOOTSTRAP_KEYS: keysFile,
  DATABASE_URL: process.argv[2]!,
  VERITRAIN_REQUESTS_PER_MINUTE: '10000000',
  VERITRAIN_ADDRESS_REQUESTS_PER_MINUTE: '10000000',
  VERITRAIN_JOBS_UNDER_WAY_MAX: '100000',
  VERITRAIN_LEASE_SECONDS: '600',
  VERITRAIN_LOG_LEVEL: 'error',
});
/** The bench's policy is no policy document: its digest is all that a submission needs. */
const appraiser = {
  policyDigest: (policy: Uint8Array) => new Uint8Array(createHash('sha256').update(policy).digest()),
  appraise: () => Promise.reject(new Error('the load bench does not appraise')),
};
const plane = await startControlPlane(config, createLogger('load', 'error'), { appraiser });
let began = process.cpuUsage();
process.once('disconnect', () => process.exit(0));
process.on('message', () => {
  const { user, system } = process.cpuUsage(began);
  began = process.cpuUsage();
  process.send!({ residentMiB: process.memoryUsage.rss() / 2 ** 20, cpuMilliseconds: (user + system) / 1000 });
});
process.send!({ http: plane.httpPort, dispatch: plane.dispatchPort });
