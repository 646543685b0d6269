/**
 * Folders of real evidence: manifest.json, files, anchors/. Each entry is judged at its own time, by its own anchors.
 */
import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { z } from 'zod';
import { isAsStated, runSample, type SampleEntry, type SampleReport, type Tier } from '#attestation';
import { CodedError, ConfigurationError, fromUtf8 } from '#attestation/base';
import { readBytes, readJson } from '#libs/client/files';

const manifestShape = z.array(
  z.object({
    id: z.string().min(1).max(200),
    files: z.record(z.string(), z.object({ file: z.string() })),
    expect: z
      .object({
        authentic: z.boolean().optional(),
        appraisal: z.enum(['affirming', 'warning', 'contraindicated', 'none']).nullish(),
        /** ISO 8601, or Unix seconds. */
        at: z.union([z.iso.datetime({ offset: true }), z.int().min(0)]).optional(),
      })
      .nullish(),
  }),
);
type ManifestEntry = z.infer<typeof manifestShape>[number];

interface Expected {
  readonly authentic: boolean | null;
  /** Null where the manifest states none. */
  readonly appraisal: Tier | null;
}

export interface JudgedSample extends Omit<SampleReport, 'vendor'> {
  /** Relative to the folder that was asked for, with `/`. */
  readonly folder: string;
  /** Null where the files are of no known kind. */
  readonly vendor: SampleReport['vendor'] | null;
  /** Unix seconds of the judgement. */
  readonly at: number;
  /** Null where the manifest states no verdict: the entry is reported and not compared. */
  readonly expected: Expected | null;
  readonly asExpected: boolean | null;
  /** The sample was not compared because it cannot be read, is not authentic, or is not accepted. */
  readonly failedUncompared: boolean;
}

interface SamplesReport {
  readonly ok: boolean;
  readonly counts: {
    readonly samples: number;
    readonly compared: number;
    /** Samples with another verdict than stated, and those without a stated one that failed. */
    readonly unexpected: number;
    readonly failedUncompared: number;
  };
  readonly samples: readonly JudgedSample[];
}

const manifestsMax = 1000;
const depthMax = 8;
const sampleFileBytesMax = 64 * 1024 * 1024;

/**
 * @param now  Unix seconds, for folders whose manifest states no time at all
 * @param anchorFolder  PEM certificates to use instead of each folder's own `anchors/`
 * @throws ConfigurationError FILE_*, SAMPLES_NONE, SAMPLES_MANIFEST
 */
export async function verifySamples(folder: string, now: number, anchorFolder?: string): Promise<SamplesReport> {
  const given = anchorFolder === undefined ? undefined : anchorsIn(resolve(anchorFolder));
  const samples: JudgedSample[] = [];
  for (const manifest of manifestsOf(resolve(folder))) {
    const shown = relative(resolve(folder), dirname(manifest)).split(sep).join('/');
    samples.push(...(await judgeFolder(manifest, now, given)).map((sample) => ({ folder: shown, ...sample })));
  }
  if (samples.length === 0) {
    throw new ConfigurationError('SAMPLES_NONE', {
      expected: `a manifest.json with samples in ${folder} or below`,
      got: 'none',
      rule: 'layout of a folder of samples',
    });
  }
  const compared = samples.filter(({ asExpected }) => asExpected !== null).length;
  const failedUncompared = samples.filter((sample) => sample.failedUncompared).length;
  const unexpected = samples.filter(({ asExpected }) => asExpected === false).length + failedUncompared;
  const counts = { samples: samples.length, compared, unexpected, failedUncompared };
  return { ok: unexpected === 0, counts, samples };
}

/** A folder of parts without stated verdicts has samples.json instead; it is judged where it is asked for by name. */
function manifestsOf(folder: string): string[] {
  const found = manifestsBelow(folder, depthMax);
  const parts = join(folder, 'samples.json');
  return found.length === 0 && existsSync(parts) ? [parts] : found;
}

function manifestsBelow(folder: string, depth: number): string[] {
  const entries = readFolder(folder);
  const own = entries.some((entry) => entry.isFile() && entry.name === 'manifest.json');
  const below = entries.filter((entry) => entry.isDirectory() && depth > 0).map(({ name }) => name);
  const nested = below.sort().flatMap((name) => manifestsBelow(join(folder, name), depth - 1));
  return [...(own ? [join(folder, 'manifest.json')] : []), ...nested].slice(0, manifestsMax);
}

function readFolder(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    throw new ConfigurationError('FILE_UNREADABLE', {
      expected: `a readable folder at ${folder}`,
      got: (error as NodeJS.ErrnoException).code ?? 'an error',
      rule: 'arguments of this command',
    });
  }
}

async function judgeFolder(
  manifest: string,
  now: number,
  given: readonly string[] | undefined,
): Promise<Omit<JudgedSample, 'folder'>[]> {
  const parsed = manifestShape.safeParse(readJson(manifest));
  if (!parsed.success) {
    throw new ConfigurationError('SAMPLES_MANIFEST', {
      expected: `${manifest}: a list of samples with id, files and expect`,
      got: parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)[0] ?? 'another shape',
      rule: 'layout of a folder of samples',
    });
  }
  const folder = dirname(manifest);
  const own = join(folder, 'anchors');
  const anchors = given ?? (existsSync(own) ? anchorsIn(own) : []);
  const stated = parsed.data.flatMap(({ expect }) => (expect?.at === undefined ? [] : [unixSeconds(expect.at)]));
  const fallback = stated.length === 0 ? now : Math.max(...stated);
  const judged: Omit<JudgedSample, 'folder'>[] = [];
  for (const entry of parsed.data) judged.push(await judgeEntry(folder, entry, anchors, fallback));
  return judged;
}

function anchorsIn(path: string): string[] {
  const names = readFolder(path)
    .map(({ name }) => name)
    .filter((name) => name.endsWith('.pem'));
  return names.sort().map((name) => fromUtf8(readBytes(join(path, name), 256 * 1024)));
}

/** A sample that cannot even be read gets that as its verdict, and the others theirs. */
async function judgeEntry(
  folder: string,
  entry: ManifestEntry,
  anchors: readonly string[],
  fallback: number,
): Promise<Omit<JudgedSample, 'folder'>> {
  const { id, expect } = entry;
  const at = expect?.at === undefined ? fallback : unixSeconds(expect.at);
  const report = await judge({ id, anchors, at }, folder, entry);
  const stated = expect?.authentic !== undefined || typeof expect?.appraisal === 'string';
  const expected = stated ? { authentic: expect.authentic ?? null, appraisal: expect.appraisal ?? null } : null;
  const asExpected = expected && isAsStated(report, expected);
  const accepted = report.appraisal === null || report.appraisal === 'affirming' || report.appraisal === 'warning';
  const failedUncompared = expected === null && !(report.authentic && accepted);
  return { at, ...report, expected, asExpected, failedUncompared };
}

async function judge(
  sample: Omit<SampleEntry, 'files' | 'named'>,
  folder: string,
  { id, files }: ManifestEntry,
): Promise<Omit<JudgedSample, 'folder' | 'at' | 'expected' | 'asExpected' | 'failedUncompared'>> {
  try {
    const read = Object.entries(files).map(
      ([role, { file }]) => [role, file, readBytes(inside(folder, file), sampleFileBytesMax)] as const,
    );
    const named = new Map(read.map(([, file, bytes]) => [basename(file), bytes]));
    return await runSample({ ...sample, files: new Map(read.map(([role, , bytes]) => [role, bytes])), named });
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return {
      id,
      vendor: null,
      authentic: false,
      authenticity: 'undecided',
      appraisal: 'none',
      codes: [error.code],
      checks: [],
    };
  }
}

function inside(folder: string, file: string): string {
  const path = resolve(folder, file);
  if (path.startsWith(folder + sep)) return path;
  throw new ConfigurationError('SAMPLES_MANIFEST', {
    expected: 'a file inside the folder of its manifest',
    got: file.slice(0, 200),
    rule: 'layout of a folder of samples',
  });
}

function unixSeconds(time: string | number): number {
  return typeof time === 'number' ? time : Math.floor(Date.parse(time) / 1000);
}
