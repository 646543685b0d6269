/** `veritrain demo`, what `npm start` runs. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { runDemo, type DemoReport } from '../demo/demo.js';
import { stepsPerEpoch } from '../demo/mnist.js';
import { runProvedDemo, type ProvedReport } from '../demo/proved.js';
import { logLine } from '../demo/logged.js';
import { printResult, table, type OutputOptions } from '../output.js';

/** Where to go from here. */
const more = [
  ['console', 'npm run serve: pages that stay, with a job’s curve while it trains'],
  ['examples', 'npx veritrain example list: tables, pictures, text'],
] as const;

/** Of a job that is proved, where no epochs are asked for: one proof of half a minute. */
const provedSteps = 64;

interface DemoOptions extends OutputOptions {
  readonly folder: string;
  readonly epochs?: number;
  readonly guest?: boolean;
  readonly tee: boolean;
  readonly highValue?: boolean;
}

export function addDemoCommand(command: Command): void {
  command
    .option('--folder <folder>', 'where everything is written', '.veritrain')
    .option(
      '--epochs <n>',
      'passes over the training set; else 10, in a guest 1, of a job that is proved 64 steps',
      whole,
    )
    .addOption(
      new Option('--guest', 'in a guest without SEV-SNP, under QEMU: SIMULATED all the same').conflicts([
        'tee',
        'highValue',
      ]),
    )
    .option('--no-tee', 'without trusted hardware: every step proved in zero knowledge; an epoch takes minutes')
    .option('--high-value', 'in a simulated enclave, every step proved besides')
    .option('--json', 'end with one JSON object')
    .action(async (options: DemoOptions) => {
      const { folder, guest, tee, highValue = false, epochs = guest === true ? 1 : 10 } = options;
      if (!tee || highValue) {
        const steps = options.epochs === undefined ? provedSteps : options.epochs * stepsPerEpoch;
        const proved = await runProvedDemo({ folder, tee, highValue, steps, provers: [2] });
        return printResult(options, proved, () => provedSummary(proved));
      }
      const report = await runDemo({ folder, epochs, guest });
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
      ['log', logLine(report.log)],
      ['hardware', report.simulated ? 'SIMULATED: this run shows the software, not a machine' : 'as attested'],
      ['settled', `${report.transactionHash}`],
      ['bundle', report.bundle],
      ['reviewer', `${reviewerPage()}: open it in a browser and drop the bundle into it`],
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
      ...more,
    ]),
  ].join('\n');
}

/** Where the build leaves it, from source as from dist. */
function reviewerPage(): string {
  const file = fileURLToPath(import.meta.url);
  const root = file.slice(0, file.search(/(\/dist)?\/apps\/cli\/src\/commands\//));
  return join(root, 'dist/apps/console/reviewer.html');
}

function provedSummary(report: ProvedReport): string {
  const { assurance, reason, steps, segments, unit, proofs, verdict, simulated, seconds } = report;
  const hardware = simulated ? 'SIMULATED: this run shows the software, not a machine' : 'none took part';
  const data = simulated
    ? 'sealed to the enclave; the named prover saw it too, because it proves on it'
    : 'the named prover saw it in the clear: without a TEE there is nothing to hide it from its machine';
  return [
    '',
    table([
      ['assurance', `${assurance} (${reason})`],
      ['hardware', hardware],
      ['job', report.jobId],
      ['proved', `${steps} steps in ${segments} segments of ${unit.steps} (${unit.profile}): ${proofs}`],
      ['bundle', `${verdict}, checked offline: ${report.bundle}`],
      ['log', logLine(report.log)],
      ['reviewer', `${reviewerPage()}: open it in a browser and drop the bundle into it`],
      ['state digest', report.stateDigest],
      [
        'settled',
        `${report.transactionHash}; the contract verified ${report.provedOnChain} proofs for ${report.proofGas} gas`,
      ],
      ['data', data],
      ['model', report.model],
      [
        'seconds',
        Object.entries(seconds)
          .map(([name, s]) => `${name} ${s.toFixed(1)}`)
          .join(', '),
      ],
      ...more,
    ]),
  ].join('\n');
}
