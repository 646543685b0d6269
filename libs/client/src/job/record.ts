/**
 * What a client keeps of its own jobs: the terms it signed for, so that nobody else's word is needed later, and the seed
 * that they commit to.
 */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ConfigurationError } from '#attestation/base';
import { parseTermsJson, termsJson, type Terms } from '#attestation/records';
import { readJson, writeWhole } from '../files/files.js';
import type { Profile } from '../api/profile.js';
import { readSecret, writeSecret } from '../files/secrets.js';

export function keepTerms(profile: Profile, jobId: string, terms: Terms, seed: Uint8Array): void {
  writeSecret(pathOf(profile, jobId, 'seed'), seed);
  writeWhole(pathOf(profile, jobId, 'json'), `${JSON.stringify(termsJson(terms), null, 2)}\n`, 0o600);
}

/** Undefined when this profile did not submit the job. @throws ConfigurationError SECRET_FILE when it was damaged */
export function ownSeed(profile: Profile, jobId: string): Uint8Array | undefined {
  const path = pathOf(profile, jobId, 'seed');
  return existsSync(path) ? readSecret(path) : undefined;
}

/** @throws ConfigurationError JOB_RECORD when this profile did not submit the job */
export function ownTerms(profile: Profile, jobId: string): Terms {
  const path = pathOf(profile, jobId, 'json');
  if (existsSync(path)) return parseTermsJson(readJson(path));
  throw new ConfigurationError('JOB_RECORD', {
    expected: `the terms of job ${jobId} in ${path}`,
    got: 'no such file',
    rule: 'client profile',
    action: 'use the profile that submitted the job, or copy its jobs folder',
  });
}

/** A file of a job in the profile's own folder. */
export function pathOf(
  profile: Profile,
  jobId: string,
  kind: 'json' | 'seed' | 'header.json' | 'tokenizer.json' | 'start.bin',
): string {
  const name = /^0x[0-9a-f]{64}$/.test(jobId) ? jobId : 'not-a-job-id';
  return join(dirname(profile.recipientKey), 'jobs', `${name}.${kind}`);
}
