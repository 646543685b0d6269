/** The command line `veritrain` as a function of its arguments. */
import { Command, CommanderError } from 'commander';
import { releaseVersion } from '#libs/review/text';
import { reportFailure, reportUsage } from './output.js';
import { OwnCommand } from './own-command.js';

/** A command, or a group of them, as the help of the program names it. */
interface Entry {
  /** Its name, and `[options]` where it is no group. */
  readonly term: string;
  readonly description: string;
  /** Loads what the rest of it needs. */
  readonly load: () => Promise<(command: Command) => void>;
}

/** Runs one command; its failure is printed and becomes the exit code. @param argv as in process.argv */
export async function run(argv: readonly string[]): Promise<void> {
  const json = argv.includes('--json');
  try {
    const program = await createProgram(argv.slice(2));
    await program.parseAsync(argv);
  } catch (error) {
    if (error instanceof CommanderError) reportUsage(error, json);
    else reportFailure(error, json);
  }
}

/** @param words those commands have options and members that are named among them; without it all have */
export async function createProgram(words?: readonly string[]): Promise<Command> {
  const program = new OwnCommand('veritrain')
    .description('training you can prove: seal data, submit jobs, verify evidence')
    .version(releaseVersion)
    .exitOverride()
    .configureOutput({ writeOut: (text) => void process.stdout.write(text) });
  for (const { term, description, load } of entries) {
    const name = term.split(' ')[0]!;
    const isAsked = words?.includes(name) ?? true;
    const command = program.command(isAsked ? name : term).description(description);
    if (isAsked) (await load())(command);
  }
  return program;
}

const entries: readonly Entry[] = [
  {
    term: 'demo [options]',
    description: 'train MNIST end to end in a simulated enclave, check the evidence, settle on a local chain',
    load: async () => (await import('./commands/demo.js')).addDemoCommand,
  },
  {
    term: 'up [options]',
    description: 'run control plane, key broker, simulated-TEE nodes and a local chain until interrupted',
    load: async () => (await import('./commands/up.js')).addUpCommand,
  },
  {
    term: 'example',
    description: 'small jobs from data to prediction, each with one command',
    load: async () => {
      const { addExampleCommands } = await import('./commands/example.js');
      return (group) => addExampleCommands(group, createProgram);
    },
  },
  {
    term: 'dataset',
    description: 'seal a data set for training, look at a sealed one',
    load: async () => (await import('./commands/dataset.js')).addDatasetCommands,
  },
  {
    term: 'job',
    description: 'submit jobs, follow and steer them, fetch results',
    load: async () => (await import('./commands/job.js')).addJobCommands,
  },
  {
    term: 'contracts',
    description: 'deploy the escrow and its verifiers, and check them',
    load: async () => (await import('./commands/contracts.js')).addContractsCommands,
  },
  {
    term: 'key',
    description: 'API keys of a control plane; for administrators',
    load: async () => (await import('./commands/key.js')).addKeyCommands,
  },
  {
    term: 'node',
    description: 'nodes that train',
    load: async () => (await import('./commands/node.js')).addNodeCommands,
  },
  {
    term: 'host',
    description: 'guests on this machine: what it takes, how they start, whether they are measured as expected',
    load: async () => (await import('./commands/host.js')).addHostCommands,
  },
  {
    term: 'images',
    description: 'images of the services, written from locked inputs',
    load: async () => (await import('./commands/images.js')).addImagesCommands,
  },
  {
    term: 'dead-letter',
    description: 'messages that could not be taken; for administrators',
    load: async () => (await import('./commands/dead-letter.js')).addDeadLetterCommands,
  },
  {
    term: 'audit',
    description: 'the audit log of a control plane; for administrators',
    load: async () => (await import('./commands/audit.js')).addAuditCommands,
  },
  {
    term: 'model',
    description: 'make a manifest from data or a model file, and look at one',
    load: async () => (await import('./commands/model.js')).addModelCommands,
  },
  {
    term: 'train [options]',
    description: 'train on this machine: a net on your data into a model folder, or the engine alone for state digests',
    load: async () => (await import('./commands/train.js')).addTrainCommand,
  },
  {
    term: 'predict [options]',
    description: 'run a trained model, exactly as it was trained: on new data, or on from a text',
    load: async () => (await import('./commands/predict.js')).addPredictCommand,
  },
  {
    term: 'evaluate [options]',
    description: 'measure a trained model on data with labels; exact counts',
    load: async () => (await import('./commands/predict.js')).addEvaluateCommand,
  },
  {
    term: 'prove [options]',
    description:
      'train a segment of a job on IDX files and prove it in zero knowledge, or how many records weights class right',
    load: async () => (await import('./commands/proof.js')).addProveCommand,
  },
  {
    term: 'proof',
    description: 'check proofs, make keys',
    load: async () => (await import('./commands/proof.js')).addProofCommands,
  },
  {
    term: 'bundle',
    description: 'evidence bundles',
    load: async () => (await import('./commands/bundle.js')).addBundleCommands,
  },
  {
    term: 'report',
    description: 'verdicts to keep: make, sign, verify',
    load: async () => (await import('./commands/report.js')).addReportCommands,
  },
  {
    term: 'evidence',
    description: 'evidence of hardware: verify, show, measure',
    load: async () => (await import('./commands/evidence.js')).addEvidenceCommands,
  },
  {
    term: 'policy',
    description: 'appraisal policies',
    load: async () => (await import('./commands/policy.js')).addPolicyCommands,
  },
  {
    term: 'advisories',
    description: 'dated documents of what is not to be relied on',
    load: async () => (await import('./commands/advisories.js')).addAdvisoryCommands,
  },
  {
    term: 'log',
    description: 'the transparency log: what was logged, and who saw it',
    load: async () => (await import('./commands/log.js')).addLogCommands,
  },
  {
    term: 'guest',
    description: 'the measured guest: its locked inputs and its image',
    load: async () => (await import('./commands/guest.js')).addGuestCommands,
  },
];
