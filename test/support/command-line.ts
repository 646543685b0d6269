/** Arguments of the project's own commands: usage where it is asked for, one clear line where one is not understood. */
import { parseArgs, type ParseArgsConfig } from 'node:util';

type CommandLine<T extends ParseArgsConfig> = ReturnType<typeof parseArgs<T>> & {
  /** A whole number from `min` (0) to `max` (nine digits); ends the process where `text` is none. */
  whole(name: string, text: string, min?: number, max?: number): number;
  /** Ends the process with status 2. */
  refuse(message: string): never;
};

/** Ends the process where `--help` is asked for, with status 0, and where an argument is not known, with status 2. */
export function readCommandLine<const T extends ParseArgsConfig>(usage: string, config: T): CommandLine<T> {
  const refuse = (message: string): never => {
    process.stderr.write(`${message}\n\n${usage}\n`);
    process.exit(2);
  };
  if (process.argv.slice(2).some((argument) => argument === '--help' || argument === '-h')) {
    process.stdout.write(`${usage}\n`);
    process.exit(0);
  }
  const parse = (): ReturnType<typeof parseArgs<T>> => {
    try {
      return parseArgs(config);
    } catch (error) {
      return refuse((error as Error).message);
    }
  };
  const whole = (name: string, text: string, min = 0, max = 999_999_999): number =>
    /^\d{1,16}$/.test(text) && Number(text) >= min && Number(text) <= max
      ? Number(text)
      : refuse(`--${name}: expected a whole number from ${min} to ${max}; got ${text}`);
  return { ...parse(), whole, refuse };
}
