/** `veritrain train`: the engine alone on plaintext IDX files, for digests and speed. */
import { InvalidArgumentError, type Command } from 'commander';
import { reportedError } from '#attestation/base';
import { readJson } from '#libs/client';
import { nodeCommand, startProcess } from '#libs/process';
import { printResult, table, type OutputOptions } from '../output.js';

interface TrainOptions extends OutputOptions {
  readonly manifest: string;
  readonly images: string;
  readonly labels: string;
  readonly digestAt: readonly number[];
  readonly threads: number;
}

interface EngineReport {
  readonly digests: Readonly<Record<string, string>>;
  readonly samplesPerSecond: number;
}

export function addTrainCommand(program: Command): void {
  program
    .command('train')
    .description('run the training engine alone on IDX files and print state digests')
    .requiredOption('--manifest <file>', 'fxt/1 manifest')
    .requiredOption('--images <file>', 'IDX file of unsigned bytes')
    .requiredOption('--labels <file>', 'IDX file of labels')
    .requiredOption('--digest-at <steps>', 'comma-separated numbers of finished steps', steps)
    .option('--threads <n>', 'threads of one operator', whole, 1)
    .option('--json', 'print one JSON document')
    .action(async (options: TrainOptions) => {
      const { images, labels, digestAt, threads } = options;
      const report = await runEngine({ manifest: readJson(options.manifest), images, labels, digestAt, threads });
      printResult(options, report, () =>
        table([
          ...Object.entries(report.digests).map(([step, digest]) => [`step ${step}`, digest] as const),
          ['samples/s', Math.round(report.samplesPerSecond).toLocaleString('en')],
        ]),
      );
    });
}

/**
 * The engine is a process of the enclave's code; it speaks JSON on its standard streams (enclave/SPEC.md, engine
 * alone).
 */
async function runEngine(request: object): Promise<EngineReport> {
  const command = nodeCommand('../../../../enclave/src/engine/engine-main', import.meta.url);
  const { child } = startProcess(command, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin!.on('error', () => undefined).end(JSON.stringify(request));
  let printed = '';
  for await (const chunk of child.stdout!) printed += String(chunk);
  const answer = JSON.parse(printed || '{}') as EngineReport & { error?: Record<string, string> };
  if (answer.error === undefined && answer.digests !== undefined) return answer;
  throw reportedError({ code: 'ENGINE_FAILED', expected: 'a report', got: 'nothing', ...answer.error });
}

function steps(text: string): readonly number[] {
  if (!/^\d{1,9}(,\d{1,9})*$/.test(text)) throw new InvalidArgumentError('step counts such as 0,1,100');
  return text.split(',').map(Number);
}

function whole(text: string): number {
  if (!/^[1-9]\d{0,2}$/.test(text)) throw new InvalidArgumentError('a whole number from 1 to 999');
  return Number(text);
}
