/** What an example is: a folder with a page, perhaps data, and the commands that it runs (example.json). */
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { ConfigurationError } from '#attestation/base';
import { readJson } from '#libs/client/files';
import { makers, type MakerName } from './made/index.js';

const Data = z.union([
  /** Files of the example's own folder. */
  z.strictObject({ files: z.literal('own') }),
  /** A folder of a package that is installed. */
  z.strictObject({ package: z.string(), folder: z.string() }),
  /** Made anew by a script, the same bytes every time. */
  z.strictObject({ made: z.enum(Object.keys(makers) as [MakerName, ...MakerName[]]), rows: z.int().min(1) }),
]);

const Settings = z.record(z.string().regex(/^[a-z]+$/i), z.union([z.string(), z.number()]));

/** A bound on a metric of the last command that measured. */
const Expectation = z.strictObject({
  metric: z.string(),
  atLeast: z.number().optional(),
  atMost: z.number().optional(),
});

const Example = z.strictObject({
  /** One line for the list. */
  shows: z.string(),
  /** As seen on one core. */
  seconds: z.int(),
  data: Data,
  /** Processes that the commands talk to, as `veritrain up` starts them; none where absent. */
  system: z.strictObject({ nodes: z.int().min(1).max(3) }).optional(),
  settings: Settings,
  /** Arguments of `veritrain`, with {data}, {here}, {out}, {profile}, {keys}, {job} and the settings' names for what is put there. */
  commands: z.array(z.string()).min(1),
  expect: z.array(Expectation),
  /** What takes seconds instead, for continuous integration. */
  short: z.strictObject({
    data: Data.optional(),
    settings: Settings,
    expect: z.array(Expectation),
  }),
});

export type ExampleData = z.infer<typeof Data>;
export type Expectation = z.infer<typeof Expectation>;

export interface Example extends z.infer<typeof Example> {
  readonly name: string;
  /** Where its page is. */
  readonly folder: string;
}

/** In the order of their names. @throws ConfigurationError EXAMPLES_MISSING, EXAMPLE_FORM */
export function listExamples(): readonly Example[] {
  const folder = examplesFolder();
  return namesIn(folder).map((name) => readExample(join(folder, name), name));
}

/** @throws ConfigurationError EXAMPLE_UNKNOWN, EXAMPLES_MISSING, EXAMPLE_FORM */
export function exampleNamed(name: string): Example {
  const folder = examplesFolder();
  const names = namesIn(folder);
  if (names.includes(name)) return readExample(join(folder, name), name);
  const [expected, action] = [`one of ${names.join(', ')}`, 'see `veritrain example list`'];
  throw new ConfigurationError('EXAMPLE_UNKNOWN', { expected, got: name.slice(0, 100), rule: 'example run', action });
}

function namesIn(folder: string): readonly string[] {
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
}

function readExample(folder: string, name: string): Example {
  const path = join(folder, 'example.json');
  const parsed = Example.safeParse(readJson(path));
  if (parsed.success) return { ...parsed.data, name, folder };
  const { message, path: at } = parsed.error.issues[0]!;
  throw new ConfigurationError('EXAMPLE_FORM', { expected: message, got: at.join('.'), rule: path });
}

/** From source and from what is built alike: `apps/cli/examples` beside package.json. */
function examplesFolder(): string {
  let root = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(root, 'package.json')) && dirname(root) !== root) root = dirname(root);
  const folder = join(root, 'apps', 'cli', 'examples');
  if (existsSync(folder)) return folder;
  throw new ConfigurationError('EXAMPLES_MISSING', {
    expected: 'the folder apps/cli/examples beside package.json',
    got: 'none: this installation has no examples',
    rule: 'example list',
    action: 'use a clone of the repository',
  });
}
