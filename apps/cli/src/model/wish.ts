/** Options of commands that plan, as the planner takes them. */
import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { to0x } from '#attestation/base';
import type { PlanWish } from '#libs/models';
import { taskKinds, usage, type DataOptions } from './data.js';

export interface WishOptions {
  readonly arch?: NonNullable<PlanWish['arch']>;
  readonly optimizer?: NonNullable<PlanWish['optimizer']>;
  readonly lr?: string;
  readonly epochs?: string;
  readonly batch?: string;
  readonly patience?: string;
  readonly seed?: string;
}

export function addWishOptions(command: Command): Command {
  return command
    .requiredOption('--from <file>', 'csv, tsv, parquet, npy, npz, idx, jsonl, txt, or a folder of pictures')
    .requiredOption('--out <folder>', 'where the manifest goes')
    .addOption(new Option('--task <name>', 'guessed from the label without it').choices(Object.keys(taskKinds)))
    .addOption(new Option('--arch <name>', 'kind of model').choices(['mlp', 'cnn', 'transformer', 'linear']))
    .addOption(
      new Option('--optimizer <name>', 'adamw without it; sgd-exact takes gradients whole').choices([
        ...['adamw', 'sgd', 'sgd-exact'],
      ]),
    )
    .option('--lr <rate>', 'peak of the learning rate')
    .option('--epochs <n>', 'passes over the data')
    .option('--batch <n>', 'rows of one step')
    .option(
      '--patience <n>',
      'ends early: after so many passes without a better loss on the rows apart; the best is kept',
    )
    .option('--seed <hex>', '0x and 64 digits; drawn without it');
}

/** @throws ConfigurationError USAGE, before any data is read */
export function wishOf(options: WishOptions): PlanWish & { readonly seed: string } {
  const { arch, optimizer, lr, epochs, batch, patience, seed } = options;
  if (seed !== undefined && !/^0x[0-9a-f]{64}$/.test(seed)) {
    throw usage('--seed as 0x and 64 hexadecimal digits, small letters', seed);
  }
  return {
    seed: seed ?? to0x(randomBytes(32)),
    ...(arch !== undefined && { arch }),
    ...(optimizer !== undefined && { optimizer }),
    ...(lr !== undefined && { lr: rate(lr) }),
    ...(epochs !== undefined && { epochs: whole('--epochs', epochs) }),
    ...(batch !== undefined && { batch: whole('--batch', batch) }),
    ...(patience !== undefined && { patience: whole('--patience', patience) }),
  };
}

/** What `train` needs to read the data the same way; the validation rows as a number. */
export function readingOf(options: DataOptions, validation: number): DataOptions {
  const { target, task, drop, category, number, names, size, tokens, textField, arrays, labels } = options;
  return {
    ...(target !== undefined && { target }),
    ...(task !== undefined && { task }),
    ...(drop !== undefined && { drop }),
    ...(category !== undefined && { category }),
    ...(number !== undefined && { number }),
    ...(names === false && { names }),
    ...(size !== undefined && { size }),
    ...(tokens !== undefined && { tokens }),
    ...(textField !== undefined && { textField }),
    ...(arrays !== undefined && { arrays }),
    ...(labels !== undefined && { labels: resolve(labels) }),
    validation: String(validation),
  };
}

function rate(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0 && value < 100) return value;
  throw usage('--lr as a number above 0 and below 100', text);
}

/** @throws ConfigurationError USAGE for anything but a whole number above 0 */
export function whole(name: string, text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw usage(`${name} as a whole number from 1 to 9999999`, text);
  return Number(text);
}
