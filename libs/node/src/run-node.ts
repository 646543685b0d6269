/** The main program of a node: settings from the file that a variable names, tracing, and an end by signal. */
import { ConfigurationError } from '#attestation/base';
import { runService } from '#libs/process';
import { startTracing } from '#libs/telemetry';

export interface RunningNode {
  readonly nodeId: string;
  /** Ends when `stop` was called and the work in hand is done or given back. */
  readonly done: Promise<void>;
  stop(): void;
}

/** Waits for every loop of a node; where one fails the others are ended, and its error is thrown. */
export async function untilEnded(
  loops: readonly Promise<void>[],
  stopping: AbortController,
  close: () => void,
): Promise<void> {
  try {
    await Promise.all(loops);
  } catch (error) {
    stopping.abort();
    await Promise.allSettled(loops);
    throw error;
  } finally {
    close();
  }
}

interface Program {
  readonly name: string;
  readonly help: string;
  /** The environment variable with the path of the settings. */
  readonly variable: string;
  readonly code: string;
  readonly rule: string;
}

/** Prints one line of JSON when the node is ready. */
export function runNode(program: Program, start: (settings: string) => Promise<RunningNode>): void {
  runService(program, () => run(program, start));
}

async function run({ name, variable, code, rule }: Program, start: (settings: string) => Promise<RunningNode>) {
  const path = process.env[variable];
  if (path === undefined || path === '') {
    throw new ConfigurationError(code, { expected: `${variable} with the path of the settings`, got: 'nothing', rule });
  }
  const tracing = await startTracing(name);
  const node = await start(path);
  process.stdout.write(`${JSON.stringify({ ready: true, nodeId: node.nodeId })}\n`);
  // The first signal asks for an end after the lease in hand, the second for one at once: what matters is on disk.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      node.stop();
      process.once(signal, () => process.exit(0));
    });
  }
  await node.done;
  await tracing.stop();
}
