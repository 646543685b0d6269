/** A PostgreSQL cluster of its own, from installed binaries, on the loopback interface with a password of its own. */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ConfigurationError } from '#attestation/base';
import type { RunningProcess } from './process.js';
import { findServer, giveTo, startServer, unprivileged } from './server-process.js';

const install = 'PostgreSQL 15 or newer, for example `apt install postgresql`';

export interface PostgresCluster {
  /** With the password: for the control plane alone. */
  url(port?: number): string;
  /** Starts the server on the cluster's port and data. */
  start(): Promise<RunningProcess>;
}

/**
 * @param folder  of the cluster, in a folder that any account may pass through; made when it is not there
 * @throws ConfigurationError SERVER_MISSING, POSTGRES_INIT
 */
export function openPostgres(folder: string, port: number, log: string): PostgresCluster {
  const postgres = findServer('postgres', install);
  const initdb = join(dirname(postgres), 'initdb');
  const account = unprivileged();
  const password = randomBytes(24).toString('base64url');
  if (!existsSync(join(folder, 'PG_VERSION'))) init(existsSync(initdb) ? initdb : findServer('initdb', install));
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    max_connections: '60',
    shared_buffers: '32MB',
  };
  return {
    url: (at = port) => `postgresql://veritrain:${password}@127.0.0.1:${at}/postgres`,
    start: () =>
      startServer({
        name: 'postgres',
        file: postgres,
        args: ['-D', folder, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
        port,
        log,
        account,
        // Ends sessions instead of waiting for them.
        stopSignal: 'SIGINT',
      }),
  };

  function init(file: string): void {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    giveTo(account, folder);
    const passwordFile = join(folder, '..', `${randomBytes(4).toString('hex')}.password`);
    writeFileSync(passwordFile, password, { mode: 0o600 });
    giveTo(account, passwordFile);
    const args = ['-D', folder, '-U', 'veritrain', '--auth=scram-sha-256', `--pwfile=${passwordFile}`, '-E', 'UTF8'];
    const { status, stderr } = spawnSync(file, [...args, '--no-locale'], { cwd: '/', encoding: 'utf8', ...account });
    rmSync(passwordFile);
    if (status === 0) return;
    throw new ConfigurationError('POSTGRES_INIT', {
      expected: `initdb to make ${folder}`,
      got: (stderr ?? 'nothing').trim().split('\n').at(-1)!.slice(0, 300),
      rule: 'distributed profile',
      action: 'let the account that runs PostgreSQL pass through the folders above it',
    });
  }
}
