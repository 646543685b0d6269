/** A log in the reader's browser: the verdict of Node to the byte, a proof in a time that nobody notices, in few bytes. */
import { beforeAll, describe, expect, it } from 'vitest';
import { toBase64, uintBe, utf8 } from '#attestation/base';
import { cosign, leafHash, logProofText, noteKeyText, parseCheckpoint, treeRoot } from '#attestation/log';
import { encodeBundle } from '#attestation/records';
import { browserBundle, callInBrowser, gzippedBytes, hasBrowser } from '#test/browser';
import { logKeyOf } from '#test/log-keys';
import { judgeLogged, verifyProof, type LogPageInput } from '#test/log-page';
import { pathOf } from '#test/log-tree';
import { honestEntries, logOf, trustText } from '#test/logged-bundle';
import { tinyBundle } from '#test/tiny-bundle';

const seenAt = 1_800_000_000;
let input: string;
beforeAll(async () => {
  const { bundle, job } = await tinyBundle();
  const logged = encodeBundle({ ...bundle, log: logOf(await honestEntries(job, bundle)) });
  const log = logKeyOf('log.example/test/2026');
  const witnesses = ['one', 'two'].map((name) => logKeyOf(`${name}.example/w`, 'witness'));
  const entry = utf8('an entry among a thousand');
  const leaves = Array.from({ length: 1000 }, (_, at) => leafHash(at === 700 ? entry : uintBe(at, 4)));
  const note = log.note(leaves.length, treeRoot(leaves));
  const lines = witnesses.map(({ key, sign }) => cosign(parseCheckpoint(note), key, seenAt, sign));
  const named = witnesses.map(({ key }, at) => `witness w${at} ${noteKeyText(key)}`);
  const cosigners = [`log ${noteKeyText(log.key)}`, ...named, 'group both all w0 w1', 'quorum both', ''].join('\n');
  const proof = logProofText(700, pathOf(leaves, 700), note + lines.join(''));
  const page: LogPageInput = {
    bundle: toBase64(logged),
    entry: toBase64(entry),
    ...{ proof, cosigners, trust: trustText },
  };
  input = JSON.stringify(page);
});

describe('a log in a browser', () => {
  it('adds at most 12 kB to a page, gzipped', () => {
    const added = gzippedBytes('#attestation/base', '#attestation/log') - gzippedBytes('#attestation/base');
    expect(added).toBeGreaterThan(1000);
    expect(added).toBeLessThan(12_000);
    console.info(`the log adds ${added} bytes to a page`);
  });

  it('verifies a proof with two cosignatures within 10 ms', () => {
    const { witnessedAt, ms } = JSON.parse(verifyProof(input)) as { witnessedAt: number; ms: number };
    expect(witnessedAt).toBe(seenAt);
    expect(ms).toBeLessThan(10);
  });

  it.skipIf(!hasBrowser)('gives the same verdict to the byte in Chromium, and its proof within 10 ms', async () => {
    const script = browserBundle('test/support/log-page.ts');
    expect(await callInBrowser(script, 'judgeLogged', input)).toBe(await judgeLogged(input));
    const there = JSON.parse(await callInBrowser(script, 'verifyProof', input)) as { witnessedAt: number; ms: number };
    expect(there.witnessedAt).toBe(seenAt);
    expect(there.ms).toBeLessThan(10);
    console.info(`a proof with two cosignatures in Chromium: ${there.ms.toFixed(1)} ms`);
  });
});
