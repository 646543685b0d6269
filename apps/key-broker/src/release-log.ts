/**
 * Releases in a transparency log: where the data owner demands it, no key leaves before the entry is in the log and seen by
 * the quorum of witnesses. One that no witness saw could still be forked away after the key is out. The owner's policy goes
 * before the first release, whatever others log of it.
 */
import { hkdfSync, randomBytes } from 'node:crypto';
import { CodedError, CollateralError, to0x, toBase64, utf8 } from '#attestation/base';
import { makePublicEntry, makeSealedEntry, type EntryBody, type EntryIssuer, type TrustPolicy } from '#attestation/log';
import type { BundledEntry, Release } from '#attestation/records';
import { submitEntry } from '#libs/log';

export interface ReleaseLog {
  /**
   * Returns once the release stands in the log.
   * @param key  the data key: who has it finds the entries of its data set
   * @param announce  is given the entry before the log is
   * @returns what the bundle shows of it
   * @throws CollateralError BROKER_LOG: then nothing may be given
   */
  enter(
    release: Release,
    key: Uint8Array,
    at: number,
    announce: (entry: Uint8Array) => void,
  ): Promise<readonly BundledEntry[]>;
}

interface LogSettings {
  readonly url: string;
  readonly policy: TrustPolicy;
  readonly issuer: EntryIssuer;
  /** The `issuer` entry that binds the log key to the broker's account, and its proof; read at every release. */
  readonly shown: () => readonly BundledEntry[];
  /** The policy that it releases under. */
  readonly own: Pick<EntryBody<'policy'>, 'id' | 'digest' | 'validFrom'>;
}

/** How long a release and its policy wait for log and witnesses, milliseconds. */
const withinMs = 10_000;

export function openReleaseLog(settings: LogSettings): ReleaseLog {
  const { issuer, shown } = settings;
  const policyIn = policyLog(settings);
  return {
    async enter(release, key, at, announce) {
      const until = performance.now() + withinMs;
      const { job, dataset, session: keys, evidence, grant, notAfter } = release;
      const body = { job, dataset, keys, evidence, grant, notAfter };
      const about = { at, watchKeys: [watchKeyOf(key)], random: (size: number) => new Uint8Array(randomBytes(size)) };
      try {
        const policy = await policyIn(at, until);
        const { entry, opening } = await makeSealedEntry(issuer, 'key-release', body, about);
        announce(entry);
        return [...shown(), policy, { entry, opening, proof: await submit(settings, entry, until) }];
      } catch (error) {
        if (error instanceof CodedError && !error.code.startsWith('BROKER_'))
          throw unlogged(`${error.code}: ${error.detail.got}`);
        throw error;
      }
    },
  };
}

/** Logs the policy once, however often it is asked. */
function policyLog(settings: LogSettings): (at: number, until: number) => Promise<BundledEntry> {
  let made: Promise<Uint8Array> | null = null;
  let logged: BundledEntry | null = null;
  return async (at, until) => {
    if (logged !== null) return logged;
    made ??= makePublicEntry(settings.issuer, 'policy', { ...settings.own, document: null, signers: [] }, at);
    const entry = await made;
    try {
      logged = { entry, opening: null, proof: await submit(settings, entry, until) };
      return logged;
    } catch (error) {
      // The log does not have it, and will not take it any more.
      if (error instanceof CodedError && error.code === 'LOG_ENTRY_TIME') made = null;
      throw error;
    }
  };
}

/** @param until  by `performance.now()` @returns the tlog-proof @throws CodedError LOG_*, BROKER_LOG */
async function submit({ url, policy }: LogSettings, entry: Uint8Array, until: number): Promise<string> {
  const within = Math.max(0, until - performance.now());
  const { text, trusted } = await submitEntry(url, entry, policy, { wait: 'witnessed', withinMs: within });
  if (policy.quorum !== null && trusted.witnessedAt === null) throw unlogged('an entry that no quorum saw');
  return text;
}

/** Of a data set: whoever can release its key can find its entries. */
export function watchKeyOf(key: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', key, new Uint8Array(), utf8('veritrain log watch/1'), 32));
}

/** As the API and a node's report have it. */
export function loggedJson(entries: readonly BundledEntry[]): readonly object[] {
  return entries.map(({ entry, opening, proof }) => ({
    entry: toBase64(entry),
    opening: opening && { salt: to0x(opening.salt), body: toBase64(opening.body) },
    proof,
  }));
}

export function unlogged(got: string): CollateralError {
  return new CollateralError('BROKER_LOG', {
    expected: 'the release in the transparency log, seen by its witnesses',
    got: got.slice(0, 200),
    rule: 'key broker settings',
    action: 'no key was given; ask again when the log answers',
  });
}
