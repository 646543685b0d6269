/** Loaded before an enclave: while the file VERITRAIN_TEST_GATE is there, nothing is trained from the step on that it names. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const file = process.env['VERITRAIN_TEST_GATE'];
const lookMs = 20;

function isHeld(step: number): boolean {
  try {
    return step >= Number(readFileSync(file!, 'utf8'));
  } catch {
    return false;
  }
}

if (file !== undefined && /\/enclave\/src\/main\.[jt]s$/.test(process.argv[1] ?? '')) {
  const { gateEngine } = await import('./gated-engine.js');
  gateEngine(async (step) => {
    while (isHeld(step)) await sleep(lookMs);
  });
}
