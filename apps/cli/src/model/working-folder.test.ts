/** Commands on a user's data that are ended by a signal leave nothing of it behind. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { nodeCommand, poll, startProcess, tailOf } from '#libs/process';
import { runCommand } from '#test/run-command';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-ended-'));
const at = (...names: string[]): string => join(folder, ...names);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it.each(['SIGINT', 'SIGTERM'] as const)('%s removes the working folder', { timeout: 120_000 }, async (signal) => {
  const rows = Array.from({ length: 500_000 }, (_, i) => `${i % 97},${i % 89},${i % 2}`);
  writeFileSync(at('rows.csv'), `a,b,label\n${rows.join('\n')}\n`);
  const own = at(signal);
  mkdirSync(own);
  const args = ['model', 'init', '--from', at('rows.csv'), '--out', at(`plan-${signal}`)];
  const { child, exited } = startProcess(nodeCommand('../main', import.meta.url, args), {
    ...{ env: { ...process.env, TMPDIR: own }, stdio: 'ignore' },
  });
  const look = async () =>
    readdirSync(own, { recursive: true }).some((name) => String(name).endsWith('raw.bin')) || null;
  expect(await poll(look, { everyMs: 20, withinMs: 100_000 })).toBe(true);
  child.kill(signal);
  expect(await exited).toBeNull();
  expect(child.signalCode).toBe(signal);
  expect(readdirSync(own).filter((name) => name.startsWith('veritrain-'))).toEqual([]);
});

const hasProc = existsSync(`/proc/${process.pid}/task/${process.pid}/children`);

/** Of those alone that the process started itself. */
const childrenOf = (pid: number): readonly number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);

it.skipIf(!hasProc).each(['SIGINT', 'SIGTERM'] as const)(
  '%s to train alone ends its engine too, and keeps the checkpoint',
  { timeout: 120_000 },
  async (signal) => {
    writeFileSync(
      at('few.csv'),
      `a,b,label\n${Array.from({ length: 400 }, (_, i) => `${i % 7},${i % 5},${i % 2}`).join('\n')}\n`,
    );
    const [plan, checkpoint] = [at(`few-${signal}`), at(`checkpoint-${signal}`)];
    await runCommand('model', 'init', '--from', at('few.csv'), '--out', plan, '--epochs', '5000');
    const own = at(`train-${signal}`);
    mkdirSync(own);
    const files = ['--manifest', join(plan, 'manifest.json'), '--data', at('few.csv'), '--out', at(`model-${signal}`)];
    const args = ['train', ...files, '--checkpoint', checkpoint, '--checkpoint-every', '10'];
    const { child, exited } = startProcess(nodeCommand('../main', import.meta.url, args), {
      ...{ env: { ...process.env, TMPDIR: own }, stdio: ['ignore', 'ignore', 'pipe'] },
    });
    const said = tailOf(child.stderr!, 10_000);
    expect(await poll(async () => existsSync(checkpoint) || null, { everyMs: 20, withinMs: 100_000 }), said()).toBe(
      true,
    );
    const engines = childrenOf(child.pid!);
    expect(engines).toHaveLength(1);
    child.kill(signal);
    expect(await exited).toBeNull();
    expect(child.signalCode).toBe(signal);
    expect(engines.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]);
    expect(said()).toContain(`ended by ${signal}; the same command goes on from ${checkpoint}\n`);
    expect(said()).not.toContain('ENGINE_FAILED');
    expect(existsSync(checkpoint)).toBe(true);
    expect(readdirSync(own)).toEqual([]);
  },
);
