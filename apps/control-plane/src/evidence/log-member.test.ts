/** A bundle's log goes over the new year: the log of each year stands together, and the verifier takes it. */
import { expect, it } from 'vitest';
import { verifyBundle } from '#attestation';
import { noteKeyText, parseLogProof, parseTrustPolicy } from '#attestation/log';
import { encodeBundle } from '#attestation/records';
import { logKeyOf } from '#test/log-keys';
import { honestEntries, logOf, trustText } from '#test/logged-bundle';
import { tinyBundle } from '#test/tiny-bundle';
import { memberOf } from './log-member.js';

const next = logKeyOf('log.example/test/2027');

it('shows the entries of a log and of the one that went on after it', async () => {
  const { bundle, job } = await tinyBundle();
  const trust = parseTrustPolicy(`${trustText}log ${noteKeyText(next.key)}\n`);
  const honest = await honestEntries(job, bundle);
  const [former, later] = [logOf(honest.slice(0, 3)), logOf(honest.slice(3), { log: next, after: 60 })];
  const asked: string[] = [];
  const paths = [...former.consistency, ...later.consistency];
  const entries = [...later.entries, ...former.entries].toReversed();
  const member = await memberOf(entries, former.watchKey!, trust, async (origin) => {
    asked.push(origin);
    return paths.shift()!;
  });
  expect(member.entries.map(({ proof }) => parseLogProof(proof).checkpoint.origin)).toEqual([
    ...Array.from({ length: 3 }, () => 'log.example/test/2026'),
    ...Array.from({ length: 3 }, () => next.key.name),
  ]);
  expect(asked).toEqual(['log.example/test/2026', 'log.example/test/2026', next.key.name, next.key.name]);
  const verdict = await verifyBundle({
    ...{ bundle: encodeBundle({ ...bundle, log: member }), policy: job.policy, logPolicy: trust },
  });
  expect(
    verdict.checks.filter(({ id, status }) => id.startsWith('LOG_') && status !== 'met').map(({ id }) => id),
  ).toEqual(['LOG_REVOKED']);
});
