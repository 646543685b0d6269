/** A NATS server of its own, from the installed binary, on the loopback interface, with JetStream and one nkey for each party. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { writeWhole } from '#libs/client/files';
import { dispatchSubjects, natsPayloadBytesMin, newNkey, subject } from '#libs/wire';
import type { RunningProcess } from './process.js';
import { findServer, startServer } from './server-process.js';

const install = 'nats-server 2.9 or newer, for example `apt install nats-server`';

interface NatsServer {
  start(): Promise<RunningProcess>;
}

interface NatsParty {
  /** File with the party's seed. */
  readonly seedFile: string;
  readonly role: 'control-plane' | 'node';
}

/**
 * Writes a seed for each party and a configuration that lets a node do nothing but ask: it can neither hear what other
 * nodes ask nor what they are answered.
 * @throws ConfigurationError SERVER_MISSING
 */
export async function openNats(
  folder: string,
  port: number,
  log: string,
  parties: readonly NatsParty[],
): Promise<NatsServer> {
  const file = findServer('nats-server', install);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const users = [];
  for (const { seedFile, role } of parties) {
    const { seed, nkey } = await newNkey();
    writeWhole(seedFile, `${seed}\n`, 0o600);
    users.push({ nkey, permissions: permissionsOf(role, nkey) });
  }
  const settings = {
    host: '127.0.0.1',
    port,
    max_payload: natsPayloadBytesMin,
    jetstream: { store_dir: join(folder, 'jetstream'), max_file_store: 2 ** 30 },
    authorization: { users },
  };
  // Its configuration language takes JSON.
  const config = join(folder, 'nats.conf');
  writeWhole(config, JSON.stringify(settings, null, 2), 0o600);
  return { start: () => startServer({ name: 'nats-server', file, args: ['-c', config], port, log }) };
}

function permissionsOf(role: NatsParty['role'], nkey: string) {
  const inbox = `_INBOX.${nkey}.>`;
  if (role === 'node') return { publish: [...dispatchSubjects], subscribe: [inbox] };
  return {
    publish: ['_INBOX.>', subject.wakes, subject.events, '$JS.API.>'],
    subscribe: [inbox, subject.wakes, subject.events, ...dispatchSubjects],
  };
}
