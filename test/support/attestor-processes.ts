/** Attestors beside an embedded system: the key broker's program with `--attest-only`, each a process with settings of its own. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeSecret } from '#libs/client/files';
import { freePort } from '#libs/process';
import { newSecret } from '../../apps/cli/src/system/keys.js';
import { startApp, type RunningProcess } from '../../apps/cli/src/system/process.js';
import type { TestSystem } from './embedded.js';

export interface AttestorProcess {
  /** 0x-hexadecimal. */
  readonly account: string;
  readonly url: string;
  /** Starts it where it is not running, on the port and journal that it had. @param more settings beyond the usual ones */
  start(more?: Readonly<Record<string, unknown>>): Promise<void>;
  /** Ends it without a word; harmless where it has ended. */
  kill(): Promise<void>;
  /** Its appraisals for one escrow, in order: the digest of the evidence that each was over. */
  appraised(escrowId: string): readonly string[];
}

/** Starts one, in a folder beside those of the system. */
export async function startAttestor(test: TestSystem, name: string): Promise<AttestorProcess> {
  const folder = join(test.folder, 'system', name);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeSecret(join(folder, 'signing.test-key'), newSecret());
  writeSecret(join(folder, 'result.test-key'), newSecret());
  const { deployment, rpcUrl } = test.profile.chain;
  const port = await freePort();
  const [file, journal] = [join(folder, 'attestor.json'), join(folder, 'journal.jsonl')];
  const settings = {
    ...{ port, rpcUrl, policies: [test.profile.policy], signingKey: 'signing.test-key', resultKey: 'result.test-key' },
    settlement: {
      chainId: deployment.chainId,
      contract: deployment.settlement.toLowerCase(),
      registry: deployment.snpRegistry.toLowerCase(),
    },
    journal: 'journal.jsonl',
  };
  let running: RunningProcess | null = null;
  const start: AttestorProcess['start'] = async (more = {}) => {
    writeFileSync(file, JSON.stringify({ ...settings, ...more }));
    const environment = { VERITRAIN_BROKER_CONFIG: file };
    running = await startApp('key-broker', join(test.folder, 'system', 'logs'), environment, ['--attest-only'], name);
  };
  await start();
  return {
    account: running!.ready['account'] as string,
    url: `http://127.0.0.1:${port}`,
    start,
    kill: async () => running?.kill(),
    appraised(escrowId) {
      const lines = readFileSync(journal, 'utf8').trim().split('\n');
      return lines
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as { decision: string; job?: string; evidence?: string })
        .flatMap(({ decision, job, evidence }) => (decision === 'appraised' && job === escrowId ? [evidence!] : []));
    },
  };
}
