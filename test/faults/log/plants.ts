/** Logs that are broken on purpose, from outside: the runs have to find each. */
import type { LogDatabase, LogStore } from '#libs/log';

export const logPlants = ['early-signature', 'looks-back-at-nothing', 'lost-file', 'forgotten-entry'] as const;
export type LogPlant = (typeof logPlants)[number];

interface Planted {
  readonly database: LogDatabase;
  readonly store: LogStore;
}

/** `early-signature` is in the signer of the run, and `looks-back-at-nothing` in its trust policy, too. */
export function plantedParts(plant: LogPlant | null, { database, store }: Planted, origin: string): Planted {
  if (plant === 'looks-back-at-nothing') {
    // Says of files and witnesses whatever the rows say.
    return {
      database,
      store: { ...store, read: (path) => (path === 'checkpoint' ? ownWord(database, origin) : store.read(path)) },
    };
  }
  if (plant === 'lost-file') {
    const write: LogStore['write'] = (path, bytes) =>
      store.write(path, bytes).catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      });
    return { database, store: { ...store, write } };
  }
  if (plant !== 'forgotten-entry') return { database, store };
  let count = 0;
  const query: LogDatabase['query'] = async (text, values) => {
    const isForgotten = text.includes('INSERT INTO log_pending') && count++ % 2 === 1;
    return isForgotten ? [] : database.query(text, values);
  };
  return { database: { ...database, query }, store };
}

async function ownWord(database: LogDatabase, origin: string): Promise<Uint8Array | null> {
  const rows = await database.query<{ served: string; published: number | string }>(
    'SELECT served, published FROM log WHERE origin = $1',
    [origin],
  );
  return Number(rows[0]?.published ?? 0) === 0 ? null : new TextEncoder().encode(rows[0]!.served);
}
