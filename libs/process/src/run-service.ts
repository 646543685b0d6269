/** What the main programs of all services do alike: help, options that they do not know, and how an error ends them. */
import { CodedError, ConfigurationError } from '#attestation/base';

interface Service {
  /** Of its folder: `key-broker`. */
  readonly name: string;
  /** What it is and where its settings are described; printed on `--help`. */
  readonly help: string;
  /** Options that it takes, none with a value: `--recover`. */
  readonly options?: readonly string[];
}

/**
 * A failure is one line of JSON on stderr and exit status 1: `SERVICE_OPTION`, `ADDRESS_IN_USE`, or what the service
 * says.
 *
 * @param start  is given the options that were set
 */
export function runService(service: Service, start: (options: ReadonlySet<string>) => Promise<void>): void {
  const words = process.argv.slice(2);
  if (words.includes('--help') || words.includes('-h')) {
    process.stdout.write(`${helpOf(service)}\n`);
    return;
  }
  begin(service, words, start).catch((error: unknown) => {
    process.stderr.write(`${shown(error)}\n`);
    process.exit(1);
  });
}

function helpOf({ name, help, options = [] }: Service): string {
  const usage = ['Usage:', 'node', `dist/apps/${name}/src/main.js`, ...options.map((option) => `[${option}]`)];
  return `${usage.join(' ')}\n\n${help}\nSettings: apps/${name}/README.md`;
}

async function begin(
  { name, options = [] }: Service,
  words: readonly string[],
  start: (options: ReadonlySet<string>) => Promise<void>,
): Promise<void> {
  const unknown = words.find((word) => !options.includes(word));
  if (unknown !== undefined) {
    const expected = [...options, '--help'].join(', ');
    const rule = `apps/${name}/README.md`;
    throw new ConfigurationError('SERVICE_OPTION', { expected, got: unknown.slice(0, 60), rule });
  }
  await start(new Set(words));
}

function shown(error: unknown): string {
  if (error instanceof CodedError) return JSON.stringify(error.toJSON());
  if (!(error instanceof Error)) return String(error);
  const { code, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  if (code !== 'EADDRINUSE') return error.stack ?? String(error);
  const got = port === undefined ? String(address) : `${address}:${port}`;
  const expected = 'an address that no other process listens at: stop that process, or set another port';
  return JSON.stringify(
    new ConfigurationError('ADDRESS_IN_USE', { expected, got, rule: 'libs/process/README.md' }).toJSON(),
  );
}
