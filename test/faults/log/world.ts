/** What a run is made of: a database, a folder of files, a witness over HTTP, and everybody who looks at the log meanwhile. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256 } from '@noble/hashes/sha2.js';
import { toHex, utf8 } from '#attestation/base';
import { noteKeyText, parseCheckpoint, parseTrustPolicy, type TrustPolicy } from '#attestation/log';
import { createFileStore, openLogDatabase, type LogDatabase, type LogStore } from '#libs/log';
import { logKeyOf } from '#test/log-keys';
import { Witness } from '../../../apps/witness/src/witness.js';

/** Where logs of many runs are kept, each under an origin of its own. */
export interface Engines {
  /** Null where no server is at hand. */
  readonly serverUrl: string | null;
  readonly embedded: LogDatabase;
}

export interface World {
  readonly origin: string;
  readonly files: string;
  readonly store: LogStore;
  /** For whoever looks from outside. */
  readonly admin: LogDatabase;
  readonly policy: TrustPolicy;
  /** Signed notes that left a process of the log. */
  readonly notes: Set<string>;
  /** What was signed, and left a process, before it was committed. */
  readonly early: readonly string[];
  /** A signed note leaves a process. */
  leaves(note: string): Promise<void>;
  /** A database of its own for each replica; embedded: the one that there is. */
  connect(name: string): Promise<LogDatabase>;
  endSessions(name: string): Promise<void>;
  look(): Promise<void>;
  /** What the witness keeps of the log. */
  witnessed(): Promise<string | null>;
  close(): Promise<void>;
}

const witnessAnswerMax = 80 * 1024;
let worlds = 0;

export async function makeWorld(engines: Engines, engine: 'server' | 'embedded'): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-log-runs-'));
  const origin = `log.example/run-${process.pid}-${worlds++}`;
  const files = join(folder, 'tiles');
  const store = createFileStore(files);
  const url = engine === 'server' ? engines.serverUrl : null;
  const admin = url === null ? engines.embedded : await openLogDatabase({ url });
  const notes = new Set<string>();
  const witness = logKeyOf('witness.example/w', 'witness');
  const log = logKeyOf(origin);
  const decides = new Witness({
    ...{ key: witness.key, sign: witness.sign, logs: [log.key], state: join(folder, 'witness') },
    now: () => Math.floor(Date.now() / 1000),
  });
  const early: string[] = [];
  const leaves = async (note: string): Promise<void> => {
    notes.add(note);
    const rows = await admin.query<{ size: number | string }>('SELECT size FROM log WHERE origin = $1', [origin]);
    const [signed, committed] = [parseCheckpoint(note).size, Number(rows[0]?.size ?? 0)];
    if (signed > committed)
      early.push(`a checkpoint of ${signed} entries left a process while ${committed} were committed`);
  };
  const server = await serve(decides, leaves);
  const { port } = server.address() as { port: number };
  return {
    ...{ origin, files, store, admin, notes, early, leaves },
    policy: parseTrustPolicy(
      `log ${noteKeyText(log.key)}\nwitness w ${noteKeyText(witness.key)} http://127.0.0.1:${port}\nquorum w\n`,
    ),
    connect: (name) =>
      url === null ? Promise.resolve(engines.embedded) : openLogDatabase({ url: named(url, sessionOf(origin, name)) }),
    endSessions: async (name) => {
      if (url === null) return;
      await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1', [
        sessionOf(origin, name),
      ]);
    },
    look: async () => {
      const rows = await admin.query<{ served: string }>('SELECT served FROM log WHERE origin = $1', [origin]);
      const file = await store.read('checkpoint');
      for (const { served } of rows) notes.add(served);
      if (file !== null) notes.add(new TextDecoder().decode(file));
    },
    witnessed: () => decides.latest(toHex(sha256(utf8(origin)))),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      if (url !== null) await admin.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const sessionOf = (origin: string, name: string): string => `${origin.slice(-24)} ${name}`;

function named(url: string, name: string): string {
  const at = new URL(url);
  at.searchParams.set('application_name', name);
  return at.href;
}

/** The witness's decisions over HTTP, and every note that it was shown. */
async function serve(witness: Witness, onNote: (note: string) => Promise<void>): Promise<Server> {
  const server = createServer((request, response) => {
    void (async () => {
      if (request.method === 'GET') {
        const note = await witness.latest(request.url!.split('/')[1]!);
        response.writeHead(note === null ? 404 : 200).end(note ?? '');
        return;
      }
      let body = '';
      for await (const part of request) body = (body + String(part)).slice(0, witnessAnswerMax);
      await onNote(body.slice(body.indexOf('\n\n') + 2));
      const answer = await witness.addCheckpoint(body);
      response.writeHead(answer.status).end(answer.body);
    })().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}
