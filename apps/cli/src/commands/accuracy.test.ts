import { expect, it } from 'vitest';
import { createProgram } from '../program.js';

const files = ['--manifest', 'm', '--images', 'i', '--labels', 'l', '--out', 'o', '--statement', 's'];
const accuracy = ['--accuracy', '--weights', 'w'];
const segment = ['--from', '0', '--steps', '1'];

async function refusal(...args: readonly string[]): Promise<unknown> {
  const program = (await createProgram()).configureOutput({ writeErr: () => undefined });
  program.commands.find((command) => command.name() === 'prove')!.configureOutput({ writeErr: () => undefined });
  return program.parseAsync(['node', 'veritrain', 'prove', ...files, ...args]).then(
    () => 'done',
    (error: unknown) => error,
  );
}

it.each<[string, readonly string[], object]>([
  ['accuracy of no weights', ['--accuracy'], { code: 'ARGUMENT', detail: { expected: '--weights with --accuracy' } }],
  ['accuracy of a segment', [...accuracy, '--from', '0'], { code: 'ARGUMENT', detail: { got: '--from' } }],
  ['accuracy on chain', [...accuracy, '--on-chain'], { code: 'ARGUMENT', detail: { got: '--on-chain' } }],
  ['accuracy under a key', [...accuracy, '--zkey-sha256', '1'.repeat(64)], { detail: { got: '--zkey-sha256' } }],
  ['accuracy by groth16', [...accuracy, '--backend', 'groth16'], { code: 'ARGUMENT', detail: { got: 'groth16' } }],
  ['a count of a segment', [...segment, '--correct', '1'], { code: 'ARGUMENT' }],
  ['a seed of a segment', [...segment, '--data-seed', 'f'], { detail: { expected: '--accuracy with --data-seed' } }],
  ['no first step', ['--steps', '1'], { code: 'commander.missingMandatoryOptionValue' }],
  ['no number of steps', ['--from', '0'], { message: "error: required option '--steps <n>' not specified" }],
])('refuses to prove %s', async (_name, args, due) => {
  expect(await refusal(...args)).toMatchObject(due);
});
