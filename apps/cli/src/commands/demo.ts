/** `veritrain demo`, what `npm start` runs. */
import { InvalidArgumentError, type Command } from 'commander';
import { runDemo, type DemoReport } from '../demo/demo.js';
import { printResult, table, type OutputOptions } from '../output.js';

interface DemoOptions extends OutputOptions {
  readonly folder: string;
  readonly epochs: number;
}

export function addDemoCommand(program: Command): void {
  program
    .command('demo')
    .description('train MNIST end to end in a simulated enclave, check the evidence, settle on a local chain')
    .option('--folder <folder>', 'where everything is written', '.veritrain')
    .option('--epochs <n>', 'passes over the training set', whole, 10)
    .option('--json', 'end with one JSON object')
    .action(async (options: DemoOptions) => {
      const report = await runDemo(options);
      printResult(options, report, () => summary(report));
    });
}

function whole(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError('a whole number from 1 to 9999');
  return Number(text);
}

function summary(report: DemoReport): string {
  const percent = (share: number): string => `${(100 * share).toFixed(2)} %`;
  const { seconds, enclave, checks } = report;
  return [
    '',
    table([
      ['test accuracy', `${percent(report.testAccuracy)} on 10,000 images (exported float ONNX)`],
      ['state digest', report.stateDigest],
      ['evidence', `${report.verdict}: ${checks.met} checks met, ${checks.warned} warnings, of ${checks.total}`],
      ['hardware', report.simulated ? 'SIMULATED: this run shows the software, not a machine' : 'as attested'],
      ['settled', `${report.transactionHash}`],
      ['bundle', report.bundle],
      ['model', report.model],
      ['training', `${report.samplesPerSecond.toLocaleString('en')} samples/s, ${enclave.trainSeconds.toFixed(2)} s`],
      ['TEE path', `${enclave.fixedSeconds.toFixed(2)} s fixed, ${percent(enclave.perTraining)} of training beyond it`],
      [
        '  of which',
        Object.entries(enclave.parts)
          .map(([name, s]) => `${name} ${s.toFixed(3)}`)
          .join(', '),
      ],
      [
        'seconds',
        Object.entries(seconds)
          .map(([name, s]) => `${name} ${s.toFixed(1)}`)
          .join(', '),
      ],
    ]),
  ].join('\n');
}
