/** Where a command gets locked inputs from, and what it tells meanwhile. */
import { Option, type Command } from 'commander';
import { inputsCache, type InputSources } from '#libs/guest';
import { log, type OutputOptions } from '../output.js';

export interface SourceOptions extends OutputOptions {
  readonly cache?: string;
  readonly inputs?: string;
  readonly mirror?: readonly string[];
}

export function withSources(command: Command): Command {
  return command
    .option('--inputs <folder>', 'a folder that has inputs, by the names of their packages')
    .option(
      '--mirror <url...>',
      'where pool/ of the archive lies, for example a snapshot; else the machine’s own sources',
    )
    .option('--cache <folder>', 'where inputs are kept; else .veritrain/cache/guest')
    .option('--json', 'print one JSON document');
}

export function sourcesOf({ cache, inputs, mirror, json }: SourceOptions): InputSources {
  const onProgress: InputSources['onProgress'] = (progress) =>
    log(
      json === true
        ? JSON.stringify({ progress })
        : `${progress.stage} ${progress.done} of ${progress.of}${progress.name ? ` ${progress.name}` : ''}`,
    );
  return { cache: cache ?? inputsCache, folder: inputs, mirrors: mirror, onProgress };
}

function flavourOption(): Option {
  return new Option('--flavour <name>', 'cpu for SEV-SNP, dev with simulated evidence, gpu')
    .choices(['cpu', 'dev', 'gpu'])
    .makeOptionMandatory();
}

export function withFlavour(command: Command): Command {
  return withSources(command.addOption(flavourOption()));
}
