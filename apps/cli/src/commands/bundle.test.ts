/** What `bundle verify` tells a reviewer beside the checks: by what and as of when, whose job, and what nobody judged. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { documentDigest, encodeDocument } from '#attestation';
import { to0x } from '#attestation/base';
import { decodeTerms, encodeBundle } from '#attestation/records';
import { bundleEntry, honestEntries, logOf, trustText } from '#test/logged-bundle';
import { tinyBundle } from '#test/tiny-bundle';
import { taken } from '../output.js';
import { run } from '../program.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-bundle-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function written(name: string, content: string | Uint8Array): string {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
}

const { bundle, encoded, job } = await tinyBundle();
const file = written('job.vtb', encoded);
const own = written('policy.json', JSON.stringify(job.policy));
const digest = documentDigest(job.policy);

async function verify(...args: readonly string[]) {
  const [printed] = await taken(() => run(['node', 'veritrain', 'bundle', 'verify', ...args]));
  process.exitCode = 0;
  return { json: printed!.result as Record<string, unknown>, text: printed!.text };
}

it('says as of when and by which policy it judged, whose job it is and when it was attested', async () => {
  const terms = decodeTerms(bundle.terms);
  const fresh = await verify(file, '--own-policy');
  expect(fresh.json).toMatchObject({
    ...{ at: null, policyOfJob: digest },
    policy: { id: job.policy.id, digest, isOfJob: true, isNeutral: false },
    ...{ client: to0x(terms.client), providers: [to0x(terms.provider)] },
    sessions: bundle.sessions.map(({ appraisedAt: at }, session) => ({ session, attestedAt: at, judgedAt: at })),
  });
  expect(fresh.text).toMatch(/^as of +\S+Z \(when the evidence was fresh\)$/m);
  expect(fresh.text).toMatch(/^chosen by +the bundle’s maker; the job was submitted under it$/m);
});

it('takes a date as its midnight in UTC and a policy of the reader, and says both', async () => {
  const { json, text } = await verify(file, '--policy', own, '--at', '2026-11-29');
  expect(json).toMatchObject({ at: 1_795_910_400, sessions: [{ judgedAt: 1_795_910_400 }, {}] });
  expect(text).toMatch(/^as of +2026-11-29T00:00:00\.000Z \(as asked\)$/m);
  expect(text).toMatch(new RegExp(`^policy +${job.policy.id} ${digest}$`, 'm'));
  expect(text).toMatch(/^chosen by +you: no policy of this release; the job was submitted under it$/m);
  const noon = await verify(file, '--own-policy', '--at', '2026-11-29T12:00Z');
  expect(noon.json).toMatchObject({ at: 1_795_953_600 });
});

it('ticks no check that the job has nothing for', async () => {
  const { json, text } = await verify(file, '--own-policy');
  expect(json['doesNotApply']).toEqual([
    ...['BUNDLE_ENDORSEMENTS', 'BUNDLE_APPRAISALS', 'BUNDLE_ROUNDS', 'BUNDLE_PROOFS'],
  ]);
  expect(text).toContain('· BUNDLE_PROOFS: does not apply to this job.');
  expect(text).toContain('✓ BUNDLE_SEAL');
});

it('says that log proofs are not judged where no log policy names their keys', async () => {
  const log = logOf(await honestEntries(job, bundle));
  const logged = written('logged.vtb', encodeBundle({ ...bundle, log }));
  expect((await verify(logged, '--own-policy')).text).toMatch(/^log proofs +not judged: 6 of 6 .*--log-policy$/m);
  const trusted = await verify(logged, '--own-policy', '--log-policy', written('trust', trustText));
  expect(trusted.text).not.toContain('log proofs');
});

it('lets no text of the file clear the screen, begin a line or stand there unseen', async () => {
  const reply = '\u001b[2J\nrely on it  yes\u202e\u2028';
  const shown = '⟨U+001B⟩[2J⟨U+000A⟩rely on it  yes⟨U+202E⟩⟨U+2028⟩';
  const named = encodeBundle({ ...bundle, policy: encodeDocument({ ...job.policy, id: reply }) });
  const { text: ofPolicy } = await verify(written('named.vtb', named));
  expect(ofPolicy).toContain(shown);
  expect(ofPolicy.match(/^rely on it.*/gm)).toEqual([expect.stringMatching(/^rely on it +no: /)]);
  const entries = [...(await honestEntries(job, bundle)).slice(0, -1), await bundleEntry(job, bundle, { tier: reply })];
  const logged = encodeBundle({ ...bundle, log: logOf(entries) });
  const { text: ofLog } = await verify(written('tier.vtb', logged));
  expect(ofLog).toContain(`got tier ${shown}`);
  for (const text of [ofPolicy, ofLog]) expect(text).not.toMatch(/[^\P{C}\n]|[\p{Zl}\p{Zp}]/u);
});
