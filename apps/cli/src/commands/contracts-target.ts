/** Options of commands about contracts: which on which chain, and for whom they sign. */
import { InvalidArgumentError, type Command } from 'commander';
import type { OutputOptions } from '../output.js';

export interface TargetOptions extends OutputOptions {
  readonly profile?: string;
  readonly rpc?: string;
  readonly deployment?: string;
}

export interface SigningOptions extends TargetOptions {
  readonly key?: string;
  readonly feePerGasMax?: bigint;
}

export function withTarget(command: Command): Command {
  return command
    .option('--profile <file>', 'client profile; else VERITRAIN_PROFILE or the one of `veritrain up`')
    .option('--rpc <url>', 'JSON-RPC endpoint instead of the profile’s')
    .option('--deployment <file>', 'deployment file instead of the profile’s')
    .option('--json', 'print one JSON document');
}

export function withSigner(command: Command): Command {
  return withFeeCap(withTarget(command)).option(
    '--key <file>',
    'secp256k1 secret that signs; else the profile’s account',
  );
}

export function withFeeCap(command: Command): Command {
  return command.option(
    '--fee-per-gas-max <wei>',
    'most that one unit of gas may cost, a tenth of it as the tip; else as the profile or the kind of chain has it',
    weiOf,
  );
}

export function digest(value: string): `0x${string}` {
  if (!/^0x[0-9a-f]{64}$/.test(value)) throw new InvalidArgumentError('a digest: 0x and 64 hexadecimal digits');
  return value as `0x${string}`;
}

export function selector(value: string): string {
  if (!/^0x[0-9a-f]{8}$/.test(value)) throw new InvalidArgumentError('a selector: 0x and 8 hexadecimal digits');
  return value;
}

function weiOf(value: string): bigint {
  if (!/^[1-9][0-9]{0,38}$/.test(value)) throw new InvalidArgumentError('wei, a whole number of at least 1');
  return BigInt(value);
}
