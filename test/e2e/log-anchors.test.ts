/** Replicas of a log on one database anchor each head once, whichever of them comes first, on both engines. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { HDNodeWallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fromHex } from '#attestation/base';
import { Lease, openLogDatabase, type LogDatabase } from '#libs/log';
import { anchorOrigin, connect, deployLogAnchors, readLogAnchors, startAnvil, testMnemonic } from '#libs/settlement';
import { seenLogOf } from '#test/log-keys';
import { Anchors } from '../../apps/log/src/anchors.js';
import { createTestDatabase } from '../../apps/control-plane/test/test-database.js';

const serverUrl = process.env['VERITRAIN_TEST_DATABASE_URL'];
if (serverUrl === undefined) console.warn('VERITRAIN_TEST_DATABASE_URL is not set: PostgreSQL is NOT tested');
const { name, policy, seen } = seenLogOf('log.example/replicas/2026');
const wallet = HDNodeWallet.fromPhrase(testMnemonic);

let anvil: Awaited<ReturnType<typeof startAnvil>>;
let provider: ReturnType<typeof connect>;
beforeAll(async () => {
  anvil = await startAnvil();
  provider = connect(anvil.url, anvil.chainId);
}, 60_000);
afterAll(async () => {
  provider.destroy();
  await anvil.stop();
});

/** Databases that replicas open: each its own connections to one server, or one embedded database. */
const engines: Record<string, (act: (open: () => Promise<LogDatabase>) => Promise<void>) => Promise<void>> = {
  embedded: async (act) => {
    const folder = mkdtempSync(join(tmpdir(), 'veritrain-anchors-'));
    const database = await openLogDatabase({ directory: join(folder, 'database') });
    await act(() => Promise.resolve(database));
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  },
  ...(serverUrl !== undefined && {
    PostgreSQL: async (act) => {
      const server = await createTestDatabase(serverUrl);
      const opened: LogDatabase[] = [];
      await act(async () => {
        const database = await openLogDatabase({ url: server.url });
        opened.push(database);
        return database;
      });
      for (const database of opened) await database.close();
      await server.drop();
    },
  }),
};

describe.each(Object.keys(engines))('three replicas of a log, on %s', (engine) => {
  it('anchor each head once, without a word of each other', async () => {
    await engines[engine]!(async (open) => {
      const contract = await deployLogAnchors(wallet.connect(provider));
      const failures: string[] = [];
      let size = 1;
      const replica = async (): Promise<Anchors> =>
        new Anchors(
          {
            ...{ rpcUrl: anvil.url, chainId: anvil.chainId, contract, everySeconds: 1 },
            secret: fromHex(wallet.privateKey),
          },
          {
            ...{ policy, lease: new Lease(await open(), name) },
            log: { checkpoint: () => Promise.resolve(seen(size)) },
            onFailure: (code) => void failures.push(code),
          },
        );
      const replicas = [await replica(), await replica(), await replica()];
      for (const one of replicas) one.start();
      const sizes = async () =>
        (await readLogAnchors(provider, contract, { origin: anchorOrigin(name), sender: wallet.address })).map(
          (anchor) => anchor.size,
        );
      for (; size < 4; size++) {
        const grown = Array.from({ length: size }, (_, at) => at + 1);
        await expect.poll(sizes).toEqual(grown);
      }
      await replicas[0]!.stop();
      // Those that are left go on.
      await expect.poll(sizes).toEqual([1, 2, 3, 4]);
      await Promise.all(replicas.slice(1).map((one) => one.stop()));
      expect(failures).toEqual([]);
    });
  }, 120_000);

  it('leave the lease to whoever works, until it is over', async () => {
    await engines[engine]!(async (open) => {
      const database = await open();
      const [one, other] = [new Lease(database, name), new Lease(await open(), name)];
      let [ended, worked] = [false, 0];
      const work = async (): Promise<void> => void worked++;
      let hasBegun = false;
      const long = one.during(async () => {
        hasBegun = true;
        while (!ended) await sleep(10);
      });
      while (!hasBegun) await sleep(10);
      expect(await other.during(work)).toBe(false);
      expect(worked).toBe(0);
      // As of a replica that was killed a minute ago.
      await database.query(`UPDATE log_lease SET until = now() - interval '1 second' WHERE origin = $1`, [name]);
      expect(await other.during(work)).toBe(true);
      ended = true;
      expect(await long).toBe(true);
      expect(await one.during(work)).toBe(true);
      expect(worked).toBe(2);
    });
  });
});
