/** The command line `veritrain` as a function of its arguments. */
import { Command, CommanderError } from 'commander';
import { addAuditCommands } from './commands/audit.js';
import { releaseVersion } from '#libs/review';
import { addBundleCommands } from './commands/bundle.js';
import { addContractsCommands } from './commands/contracts.js';
import { addDatasetCommands } from './commands/dataset.js';
import { addDeadLetterCommands } from './commands/dead-letter.js';
import { addDemoCommand } from './commands/demo.js';
import { addAdvisoryCommands } from './commands/advisories.js';
import { addEvidenceCommands } from './commands/evidence.js';
import { addExampleCommands } from './commands/example.js';
import { addGuestCommands } from './commands/guest.js';
import { addHostCommands } from './commands/host.js';
import { addImagesCommands } from './commands/images.js';
import { addJobCommands } from './commands/job.js';
import { addKeyCommands } from './commands/key.js';
import { addLogCommands } from './commands/log.js';
import { addModelCommands } from './commands/model.js';
import { addNodeCommands } from './commands/node.js';
import { addPolicyCommands } from './commands/policy.js';
import { addPredictCommands } from './commands/predict.js';
import { addProofCommands } from './commands/proof.js';
import { addReportCommands } from './commands/report.js';
import { addTrainCommand } from './commands/train.js';
import { addUpCommand } from './commands/up.js';
import { reportFailure, reportUsage } from './output.js';

/** Runs one command; its failure is printed and becomes the exit code. @param argv as in process.argv */
export async function run(argv: readonly string[]): Promise<void> {
  const json = argv.includes('--json');
  try {
    await createProgram().parseAsync(argv);
  } catch (error) {
    if (error instanceof CommanderError) reportUsage(error, json);
    else reportFailure(error, json);
  }
}

export function createProgram(): Command {
  const program = new Command('veritrain')
    .description('training you can prove: seal data, submit jobs, verify evidence')
    .version(releaseVersion)
    .exitOverride()
    .configureOutput({ writeOut: (text) => void process.stdout.write(text) });
  addDemoCommand(program);
  addUpCommand(program);
  addExampleCommands(program, createProgram);
  addDatasetCommands(program);
  addJobCommands(program);
  addContractsCommands(program);
  addKeyCommands(program);
  addNodeCommands(program);
  addHostCommands(program);
  addImagesCommands(program);
  addDeadLetterCommands(program);
  addAuditCommands(program);
  addModelCommands(program);
  addTrainCommand(program);
  addPredictCommands(program);
  addProofCommands(program);
  addBundleCommands(program);
  addReportCommands(program);
  addEvidenceCommands(program);
  addPolicyCommands(program);
  addAdvisoryCommands(program);
  addLogCommands(program);
  addGuestCommands(program);
  return program;
}
