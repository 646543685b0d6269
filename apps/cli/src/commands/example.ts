/** `veritrain example list|run`. */
import { join } from 'node:path';
import type { Command } from 'commander';
import { exampleNamed, listExamples } from '../example/description.js';
import type { ExampleReport } from '../example/run.js';
import { log, printResult, ownTable, type OutputOptions } from '../output.js';

interface RunOptions extends OutputOptions {
  readonly short?: boolean;
  readonly out?: string;
}

/** @param fresh makes the program anew for these words: a program that is running parses nothing else */
export function addExampleCommands(group: Command, fresh: (words: readonly string[]) => Promise<Command>): void {
  group
    .command('list')
    .description('examples, what they show, and about how long they take')
    .option('--json', 'print one JSON document')
    .action((options: OutputOptions) => {
      const all = listExamples().map(({ name, shows, seconds, folder }) => ({ name, shows, seconds, folder }));
      printResult(options, { examples: all }, () =>
        [
          ownTable(all.map(({ name, shows, seconds }) => [name, `${shows} (about ${seconds} s)`] as const)),
          `\nrun one: npx veritrain example run ${all[0]!.name}`,
        ].join('\n'),
      );
    });
  group
    .command('run')
    .argument('<name>', 'an example of the list')
    .description('run an example: every command that it runs is printed as you would type it')
    .option(
      '--short',
      'a short form on less data, of seconds, or of minutes where a system starts; its model is not good',
    )
    .option('--out <folder>', 'where everything goes, emptied first; else .veritrain/examples/<name>')
    .option('--json', 'end with one JSON document')
    .action(async (name: string, options: RunOptions) => {
      const { short = false, out = join('.veritrain', 'examples', name) } = options;
      const example = exampleNamed(name);
      const { runExample } = await import('../example/run.js');
      const report = await runExample(example, {
        ...{ isShort: short, out, say: log },
        execute: async (args) => (await fresh(args)).parseAsync(['node', 'veritrain', ...args]),
      });
      printResult(options, report, () => summary(report));
    });
}

function summary({ example, commands, metrics, held, out, short }: ExampleReport): string {
  const seconds = commands.reduce((sum, one) => sum + one.seconds, 0);
  const measured = Object.entries(metrics).map(([name, value]) => `${name} ${value.toPrecision(4)}`);
  return `\n${ownTable([
    ['example', `${example}${short ? ', short: less data, so the model is not good' : ''}`],
    ...(measured.length > 0 ? [['measured', measured.join(', ')] as const] : []),
    ...(held.length > 0 ? [['expected', held.join(', ')] as const] : []),
    ['seconds', seconds.toFixed(1)],
    ['in', out],
  ])}`;
}
