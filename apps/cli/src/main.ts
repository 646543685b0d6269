/** The command line `veritrain`. */
import { Command, CommanderError } from 'commander';
import { addBundleCommands } from './commands/bundle.js';
import { addDatasetCommands } from './commands/dataset.js';
import { addDemoCommand } from './commands/demo.js';
import { addEvidenceCommands } from './commands/evidence.js';
import { addJobCommands } from './commands/job.js';
import { addNodeCommands } from './commands/node.js';
import { addPolicyCommands } from './commands/policy.js';
import { addProofCommands } from './commands/proof.js';
import { addTrainCommand } from './commands/train.js';
import { addUpCommand } from './commands/up.js';
import { reportFailure } from './output.js';

const program = new Command('veritrain')
  .description('training you can prove: seal data, submit jobs, verify evidence')
  .version('0.1.0')
  .exitOverride()
  .configureOutput({ writeOut: (text) => void process.stdout.write(text) });
addDemoCommand(program);
addUpCommand(program);
addDatasetCommands(program);
addJobCommands(program);
addNodeCommands(program);
addTrainCommand(program);
addProofCommands(program);
addBundleCommands(program);
addEvidenceCommands(program);
addPolicyCommands(program);

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode;
  else reportFailure(error, process.argv.includes('--json'));
}
