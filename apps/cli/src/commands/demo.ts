/** `veritrain demo`, what `npm start` runs. */
import { InvalidArgumentError, type Command } from 'commander';
import { runDemo, type DemoReport } from '../demo/demo.js';
import { runNoTeeDemo, type NoTeeReport } from '../demo/no-tee.js';
import { printResult, table, type OutputOptions } from '../output.js';

interface DemoOptions extends OutputOptions {
  readonly folder: string;
  readonly epochs: number;
  readonly tee: boolean;
}

export function addDemoCommand(program: Command): void {
  program
    .command('demo')
    .description('train MNIST end to end in a simulated enclave, check the evidence, settle on a local chain')
    .option('--folder <folder>', 'where everything is written', '.veritrain')
    .option('--epochs <n>', 'passes over the training set', whole, 10)
    .option('--no-tee', 'a short job without trusted hardware: every segment proved in zero knowledge')
    .option('--json', 'end with one JSON object')
    .action(async (options: DemoOptions) => {
      if (!options.tee) {
        const proved = await runNoTeeDemo({ folder: options.folder, threads: 2, steps: 16 });
        return printResult(options, proved, () => provedSummary(proved));
      }
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

function provedSummary(report: NoTeeReport): string {
  const { assurance, reason, steps, segments, proofBytes, soundnessBits, verifyMs, seconds } = report;
  return [
    '',
    table([
      ['assurance', `${assurance} (${reason}): no trusted hardware took part`],
      ['job', report.jobId],
      ['proved', `${steps} steps in ${segments} segments, ${proofBytes.toLocaleString('en')} bytes`],
      ['verified', `all of it by the client in ${verifyMs} ms, ${soundnessBits.toFixed(1)} bits per round`],
      ['state digest', `${report.stateDigest}, the same as the engine's`],
      ['paid', report.paidBy],
      ['settled', `${report.transactionHash}; the contract itself verified no proof`],
      ['data', 'the prover saw it in the clear: without a TEE there is nothing to hide it from its machine'],
      ['proofs', report.proofs],
      [
        'seconds',
        Object.entries(seconds)
          .map(([name, s]) => `${name} ${s.toFixed(1)}`)
          .join(', '),
      ],
    ]),
  ].join('\n');
}
