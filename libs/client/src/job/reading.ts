/** How a job's data was read, kept beside its terms: a model of a net is used with the header of its data. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { canonicalHeader, parseDataHeader, type DataHeader } from '#libs/step';
import { readBytes, readJson, writeWhole } from '../files/files.js';
import { startBytesMax, tokenizerBytesMax } from '../limits.js';
import type { Profile } from '../api/profile.js';
import { pathOf } from './record.js';

export interface Reading {
  readonly header: DataHeader;
  /** File of the tokenizer, of text. */
  readonly tokenizer?: Uint8Array;
  /** All parameters that the job started from, where the seed did not draw them. */
  readonly start?: Uint8Array;
}

const startName = 'start.bin';
export const tokenizerName = 'tokenizer.json';

/** @param json the header as the data set has it @param manifest its path: a plan has its tokenizer beside it @throws Rejection HEADER_* */
export function keepReading(
  profile: Profile,
  jobId: string,
  json: object,
  manifest: string,
  start: Uint8Array | null,
): void {
  const header = parseDataHeader(json);
  writeWhole(pathOf(profile, jobId, 'header.json'), canonicalHeader(header), 0o600);
  if (start !== null) writeWhole(pathOf(profile, jobId, startName), start, 0o600);
  const path = join(dirname(manifest), tokenizerName);
  if (header.tokenizer === null || !existsSync(path)) return;
  writeWhole(pathOf(profile, jobId, tokenizerName), readBytes(path, tokenizerBytesMax), 0o600);
}

/** Null where this profile has none: of other models, and of jobs that were submitted before. @throws ConfigurationError FILE_*; Rejection HEADER_* */
export function ownReading(profile: Profile, jobId: string): Reading | null {
  const [path, tokenizer] = [pathOf(profile, jobId, 'header.json'), pathOf(profile, jobId, tokenizerName)];
  const start = pathOf(profile, jobId, startName);
  if (!existsSync(path)) return null;
  return {
    header: parseDataHeader(readJson(path)),
    ...(existsSync(start) && { start: readBytes(start, startBytesMax) }),
    ...(existsSync(tokenizer) && { tokenizer: readBytes(tokenizer, tokenizerBytesMax) }),
  };
}
