/** `veritrain train`: the engine alone on plaintext IDX files, for digests and speed. */
import { ConfigurationError } from '#attestation/base';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { reportedError } from '#attestation/base';
import { readJson } from '#libs/client';
import { nodeCommand, startProcess } from '#libs/process';
import { printResult, table, type OutputOptions } from '../output.js';
import { runEngine, type EngineReport } from '../train/engine-process.js';
import { runVector } from '../train/vector.js';

interface TrainOptions extends OutputOptions {
  readonly manifest?: string;
  readonly vector?: string;
  readonly images?: string;
  readonly labels?: string;
  readonly carrier: 'float64' | 'auto';
  readonly digestAt: readonly number[];
  readonly threads: number;
}

export function addTrainCommand(program: Command): void {
  program
    .command('train')
    .description('run the training engine alone and print state digests')
    .option('--manifest <file>', 'fxt/1 manifest, with --images and --labels')
    .option('--images <file>', 'IDX file of unsigned bytes')
    .option('--labels <file>', 'IDX file of labels')
    .option('--vector <file>', 'fxt/2 manifest with a member data that names its records, in place of the others')
    .addOption(new Option('--carrier <name>', 'what carries the integers').choices(['float64', 'auto']).default('auto'))
    .requiredOption('--digest-at <steps>', 'comma-separated numbers of finished steps', steps)
    .option('--threads <n>', 'threads of one operator', whole, 1)
    .option('--json', 'print one JSON document')
    .action(async (options: TrainOptions) => {
      const report = await reportOf(options);
      printResult(options, report, () =>
        table([
          ...Object.entries(report.digests).map(([step, digest]) => [`step ${step}`, digest] as const),
          ['samples/s', Math.round(report.samplesPerSecond).toLocaleString('en')],
        ]),
      );
    });
}

async function reportOf({ vector, manifest, images, labels, digestAt, threads }: TrainOptions): Promise<EngineReport> {
  if (vector !== undefined) return runVector(readJson(vector), digestAt, threads);
  if (manifest === undefined || images === undefined || labels === undefined) {
    throw new ConfigurationError('USAGE', {
      expected: '--vector, or --manifest with --images and --labels',
      got: 'neither',
      rule: 'apps/cli/COMMANDS.md, train',
    });
  }
  return runEngine({ manifest: readJson(manifest), images, labels, digestAt, threads });
}

function steps(text: string): readonly number[] {
  if (!/^\d{1,9}(,\d{1,9})*$/.test(text)) throw new InvalidArgumentError('step counts such as 0,1,100');
  return text.split(',').map(Number);
}

function whole(text: string): number {
  if (!/^[1-9]\d{0,2}$/.test(text)) throw new InvalidArgumentError('a whole number from 1 to 999');
  return Number(text);
}
