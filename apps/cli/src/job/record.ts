/** What a client keeps of its own jobs: the terms it signed for, so that nobody else's word is needed later. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ConfigurationError, parseTermsJson, termsJson, type Terms } from '#attestation';
import { readJson, writeWhole } from '../files.js';
import type { Profile } from '../profile.js';

export function keepTerms(profile: Profile, jobId: string, terms: Terms): void {
  writeWhole(pathOf(profile, jobId), `${JSON.stringify(termsJson(terms), null, 2)}\n`, 0o600);
}

/** @throws ConfigurationError JOB_RECORD when this profile did not submit the job */
export function ownTerms(profile: Profile, jobId: string): Terms {
  const path = pathOf(profile, jobId);
  if (existsSync(path)) return parseTermsJson(readJson(path));
  throw new ConfigurationError('JOB_RECORD', {
    expected: `the terms of job ${jobId} in ${path}`,
    got: 'no such file',
    rule: 'client profile',
    action: 'use the profile that submitted the job, or copy its jobs folder',
  });
}

function pathOf(profile: Profile, jobId: string): string {
  const name = /^0x[0-9a-f]{64}$/.test(jobId) ? jobId : 'not-a-job-id';
  return join(dirname(profile.recipientKey), 'jobs', `${name}.json`);
}
