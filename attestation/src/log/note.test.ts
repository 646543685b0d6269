/** Notes, checkpoints, cosignatures and trust policies: examples of others, and what is refused. */
import { ed25519 } from '@noble/curves/ed25519.js';
import { describe, expect, it } from 'vitest';
import { concatBytes, fromBase64, toBase64, utf8 } from '../base/bytes.js';
import { cosign, cosignedAt, parseCheckpoint, signCheckpoint } from './checkpoint.js';
import { leafHash, treeRoot } from './tree.js';
import { isSignedBy, noteKeyText, parseNote, parseNoteKey, type NoteKey } from './note.js';
import { logProofText, parseLogProof, verifyLogProof } from './proof.js';
import { parseTrustPolicy, trustCheckpoint } from './trust-policy.js';

/** C2SP signed-note, "Example", and the one of golang.org/x/mod/sumdb/note. */
const examples = [
  [
    'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k',
    'This is an example message.\n\n— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n',
  ],
  [
    'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW',
    'If you think cryptography is the answer to your problem,\nthen you don’t know what your problem is.\n\n— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n'.replace(
      '’',
      "'",
    ),
  ],
] as const;

const keyOf = (name: string, use: NoteKey['use'], seed: number) => {
  const secret = new Uint8Array(32).fill(seed);
  const key: NoteKey = { name, use, publicKey: ed25519.getPublicKey(secret) };
  return { key, sign: (text: string) => ed25519.sign(utf8(text), secret) };
};
const log = keyOf('log.example/test/2026', 'log', 1);
const first = keyOf('one.example/w', 'witness', 2);
const second = keyOf('two.example/w', 'witness', 3);
const own = keyOf('log.example/w', 'witness', 4);
const leaf = leafHash(utf8('an entry'));
const signed = signCheckpoint({ origin: log.key.name, size: 1, root: treeRoot([leaf]) }, log.key, log.sign);
const seen = (note: string, at: number, { key, sign }: typeof first): string =>
  note + cosign(parseCheckpoint(note), key, at, sign);
const policyText = [
  `log ${noteKeyText(log.key)} https://log.example`,
  ...[first, second, own].map(({ key }, index) => `witness w${index + 1} ${noteKeyText(key)}`),
  '# two of three',
  'group all-of-them 2 w1 w2 w3',
  'quorum all-of-them',
].join('\n');
const policy = parseTrustPolicy(policyText);

describe('signed notes', () => {
  it.each(examples)('are read as others write them: %s', (vkey, note) => {
    const key = parseNoteKey(vkey);
    expect(noteKeyText(key)).toBe(vkey);
    expect(isSignedBy(parseNote(note), key)).toBe(true);
    expect(isSignedBy(parseNote(note), log.key)).toBe(false);
    expect(() => isSignedBy(parseNote(note.replace('is', 'as')), key)).toThrow(/LOG_SIGNATURE/);
  });

  it.each([
    ['no signature', 'text\n\n'],
    ['no blank line', 'text\n— a AAAAAAA=\n'],
    ['no final newline', 'text\n\n— a AAAAAAA='],
    ['a control character', 'te\txt\n\n— a AAAAAAA=\n'],
    ['base64 without padding', 'text\n\n— a AAAAAAA\n'],
    ['base64url', 'text\n\n— a AAAAAA_=\n'],
    ['a name with a plus', 'text\n\n— a+b AAAAAAA=\n'],
    ['another dash', 'text\n\n- a AAAAAAA=\n'],
    ['a key id alone', 'text\n\n— a AAAAAA==\n'],
    ['half a character', 'te\ud800xt\n\n— a AAAAAAA=\n'],
    ['65 signatures', `text\n\n${'— a AAAAAAA=\n'.repeat(65)}`],
    ['more than a note may have', `${'x'.repeat(70_000)}\n\n— a AAAAAAA=\n`],
  ])('are refused with %s', (_what, note) => {
    expect(() => parseNote(note)).toThrow(/LOG_NOTE/);
  });

  it('take 64 signatures, and lines of keys that nobody knows', () => {
    expect(parseNote(`text\n\n${'— a AAAAAAA=\n'.repeat(64)}`).signatures).toHaveLength(64);
    expect(isSignedBy(parseNote(`${signed}— stranger AAAAAAAAAAA=\n`), log.key)).toBe(true);
  });

  it.each([
    ['another id', (vkey: string) => vkey.replace(/\+[0-9a-f]{8}\+/, '+00000000+')],
    ['another name', (vkey: string) => `x${vkey}`],
    ['no name', (vkey: string) => vkey.replace(/^[^+]+/, '')],
    ['a short key', (vkey: string) => vkey.slice(0, -4)],
    ['another type', () => `x+00000000+${toBase64(concatBytes(Uint8Array.of(6), new Uint8Array(1312)))}`],
  ])('have no key with %s', (_what, change) => {
    expect(() => parseNoteKey(change(noteKeyText(log.key)))).toThrow(/LOG_KEY/);
  });
});

describe('checkpoints', () => {
  it.each([
    ['no origin', '\n1\nROOT\n'],
    ['a size with zeroes before', 'o\n01\nROOT\n'],
    ['a negative size', 'o\n-1\nROOT\n'],
    ['a size of 2^53', 'o\n9007199254740992\nROOT\n'],
    ['a short root', 'o\n1\nAAAA\n'],
    ['an empty line behind', 'o\n1\nROOT\n\nx\n'],
    ['two lines', 'o\n1\n'],
  ])('are refused with %s', (_what, text) => {
    const note = `${text.replace('ROOT', toBase64(leaf))}\n— a AAAAAAA=\n`;
    expect(() => parseCheckpoint(note)).toThrow(/LOG_CHECKPOINT|LOG_NOTE/);
  });

  it('say when each witness saw them', () => {
    const checkpoint = parseCheckpoint(seen(seen(signed, 1_700_000_100, first), 1_700_000_050, first));
    expect(cosignedAt(checkpoint, first.key)).toBe(1_700_000_050);
    expect(cosignedAt(checkpoint, second.key)).toBeNull();
  });

  it('are nobody’s where a witness’s line says another time, tree or length', () => {
    const line = cosign(parseCheckpoint(signed), first.key, 1_700_000_100, first.sign);
    const raw = fromBase64(line.trim().split(' ')[2]!);
    const forge = (bytes: Uint8Array): string => `${signed}— ${first.key.name} ${toBase64(bytes)}\n`;
    const later = Uint8Array.from(raw);
    later[11]! ^= 1;
    expect(() => cosignedAt(parseCheckpoint(forge(later)), first.key)).toThrow(/LOG_SIGNATURE/);
    expect(() => cosignedAt(parseCheckpoint(forge(raw.slice(0, -1))), first.key)).toThrow(/LOG_COSIGNATURE/);
    const huge = Uint8Array.from(raw);
    huge.fill(255, 4, 12);
    expect(() => cosignedAt(parseCheckpoint(forge(huge)), first.key)).toThrow(/LOG_COSIGNATURE|LOG_SIGNATURE/);
    const other = signCheckpoint({ origin: log.key.name, size: 2, root: leaf }, log.key, log.sign);
    expect(() => cosignedAt(parseCheckpoint(other + line), first.key)).toThrow(/LOG_SIGNATURE/);
  });
});

describe('trust policies', () => {
  it('count the quorum’s time by the last that it needs, and organisations other than the log’s', () => {
    const one = seen(signed, 1_700_000_300, first);
    expect(trustCheckpoint(parseCheckpoint(one), policy)).toMatchObject({ witnessedAt: null });
    const two = seen(one, 1_700_000_200, own);
    const trusted = trustCheckpoint(parseCheckpoint(two), policy);
    expect(trusted.witnessedAt).toBe(1_700_000_300);
    expect(trusted.independent).toEqual(['one.example']);
    const three = seen(two, 1_700_000_100, second);
    expect(trustCheckpoint(parseCheckpoint(three), policy).witnessedAt).toBe(1_700_000_200);
  });

  it('know no other log, no other key and no other origin', () => {
    const stranger = keyOf(log.key.name, 'log', 9);
    const by = (key: typeof log, origin = log.key.name): string =>
      signCheckpoint({ origin, size: 1, root: treeRoot([leaf]) }, key.key, key.sign);
    expect(() => trustCheckpoint(parseCheckpoint(by(stranger)), policy)).toThrow(/LOG_UNKNOWN/);
    expect(() => trustCheckpoint(parseCheckpoint(by(log, 'other.example/log')), policy)).toThrow(/LOG_UNKNOWN/);
  });

  it.each([
    ['no quorum', 'log KEY'],
    ['two quorums', 'quorum none\nquorum none'],
    ['an unknown word', 'quorum none\nlogs KEY'],
    ['a quorum that comes later', 'quorum w\nwitness w WKEY'],
    ['a key twice', 'witness a WKEY\nwitness b WKEY\nquorum none'],
    ['a name twice', 'witness a WKEY\ngroup a any a\nquorum none'],
    ['the name none', 'witness none WKEY\nquorum none'],
    ['a member twice', 'witness a WKEY\ngroup g 1 a a\nquorum g'],
    ['a member in two groups', 'witness a WKEY\ngroup g 1 a\ngroup h 1 a\nquorum g'],
    ['more needed than there are', 'witness a WKEY\ngroup g 2 a\nquorum g'],
    ['none needed', 'witness a WKEY\ngroup g 0 a\nquorum g'],
    ['a log’s key as a witness', 'witness a KEY\nquorum none'],
    ['a witness’s key as a log', 'log WKEY\nquorum none'],
    ['a carriage return', 'quorum none\r\n'],
    ['a word too many', 'quorum none x'],
  ])('are refused with %s', (_what, text) => {
    const filled = text.replaceAll('WKEY', noteKeyText(first.key)).replaceAll(' KEY', ` ${noteKeyText(log.key)}`);
    expect(() => parseTrustPolicy(filled)).toThrow(/LOG_TRUST_POLICY/);
  });
});

describe('proofs of the log', () => {
  const proof = logProofText(0, [], seen(signed, 1_700_000_300, first));

  it('hold for their own leaf alone', () => {
    expect(verifyLogProof(parseLogProof(proof), leaf, policy).checkpoint.size).toBe(1);
    expect(() => verifyLogProof(parseLogProof(proof), leafHash(utf8('another')), policy)).toThrow(/LOG_INCLUSION/);
  });

  it.each([
    ['another head', proof.replace('@v1', '@v2')],
    ['extra data, which nobody signs', proof.replace('index', 'extra AAAA\nindex')],
    ['an index with zeroes', proof.replace('index 0', 'index 00')],
    ['a short hash', proof.replace('index 0\n', 'index 0\nAAAA\n')],
    ['64 hashes', proof.replace('index 0\n', `index 0\n${`${toBase64(leaf)}\n`.repeat(64)}`)],
    ['a carriage return', proof.replace('index 0', 'index 0\r')],
    ['nothing', ''],
    ['too much', proof + 'x'.repeat(20_000)],
  ])('are refused with %s', (_what, text) => {
    expect(() => parseLogProof(text)).toThrow(/LOG_PROOF|LOG_NOTE|LOG_CHECKPOINT/);
  });

  it('are never taken with one character changed, but in the host of a line that nobody reads', () => {
    for (let at = 0; at < proof.length; at++) {
      const bent = proof.slice(0, at) + (proof[at] === 'A' ? 'B' : 'A') + proof.slice(at + 1);
      let found: unknown;
      try {
        const parsed = parseLogProof(bent);
        found = verifyLogProof(parsed, leaf, policy);
      } catch (error) {
        expect(String(error)).toMatch(/LOG_/);
        continue;
      }
      // A witness's name or key id that nobody knows leaves its line unread, and the sighting with it.
      expect(found).toMatchObject({ sightings: [] });
    }
  });
});
