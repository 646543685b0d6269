/** Which logs and witnesses a reader trusts (C2SP tlog-policy), and what a checkpoint is worth by it. */
import { toHex } from '../base/bytes.js';
import { Rejection } from '../base/errors.js';
import { cosignedAt, type SignedCheckpoint } from './checkpoint.js';
import { trustPolicyCharactersMax, trustPolicyListMax } from './limits.js';
import { isSignedBy, parseNoteKey, type NoteKey, type NoteKeyUse } from './note.js';

interface Named {
  readonly key: NoteKey;
  readonly url: string | null;
}

interface TrustedWitness extends Named {
  readonly name: string;
}

interface Group {
  readonly needed: number;
  readonly members: readonly string[];
}

export interface TrustPolicy {
  readonly logs: readonly Named[];
  readonly witnesses: readonly TrustedWitness[];
  readonly groups: ReadonlyMap<string, Group>;
  /** A witness or a group; null: nobody but the log has to sign. */
  readonly quorum: string | null;
}

export interface Sighting {
  /** The witness, as the trust policy calls it. */
  readonly witness: string;
  /** First part of its key's name: whoever answers for it. */
  readonly organisation: string;
  /** Unix seconds. */
  readonly at: number;
}

export interface TrustedCheckpoint {
  readonly checkpoint: SignedCheckpoint;
  readonly sightings: readonly Sighting[];
  /** Unix seconds at which enough witnesses had seen it; null: they have not, or the policy asks for none. */
  readonly witnessedAt: number | null;
  /** Organisations among `sightings` other than the log's own. */
  readonly independent: readonly string[];
}

interface Draft {
  readonly logs: Named[];
  readonly witnesses: TrustedWitness[];
  readonly groups: Map<string, Group>;
  readonly taken: Set<string>;
  quorum?: string | null;
}

/** @throws Rejection LOG_TRUST_POLICY with the line, LOG_KEY */
export function parseTrustPolicy(text: string): TrustPolicy {
  if (text.length > trustPolicyCharactersMax) {
    throw broken(0, `at most ${trustPolicyCharactersMax} characters`, `${text.length}`);
  }
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u0008\u000b-\u001f\u007f]/.test(text)) throw broken(0, 'no control characters', 'some');
  const draft: Draft = { logs: [], witnesses: [], groups: new Map(), taken: new Set() };
  text.split('\n').forEach((line, index) => {
    const words = line.split(/[ \t]+/).filter((word) => word !== '');
    if (words.length > 0 && !words[0]!.startsWith('#')) readLine(draft, words, index + 1);
  });
  const { quorum } = draft;
  if (quorum === undefined) throw broken(0, 'a line `quorum`', 'none');
  for (const all of [draft.logs, draft.witnesses, [...draft.groups]]) {
    if (all.length > trustPolicyListMax) throw broken(0, `at most ${trustPolicyListMax} of a kind`, `${all.length}`);
  }
  return { logs: draft.logs, witnesses: draft.witnesses, groups: draft.groups, quorum };
}

function readLine(draft: Draft, [verb, ...words]: readonly string[], line: number): void {
  if (verb === 'log' && words.length >= 1 && words.length <= 2) {
    draft.logs.push(named(draft.logs, words[0]!, words[1], 'log', line));
  } else if (verb === 'witness' && words.length >= 2 && words.length <= 3) {
    const name = freshName(draft, words[0]!, line);
    draft.witnesses.push({ name, ...named(draft.witnesses, words[1]!, words[2], 'witness', line) });
  } else if (verb === 'group' && words.length >= 3) {
    const group = readGroup(draft, words.slice(1), line);
    draft.groups.set(freshName(draft, words[0]!, line), group);
  } else if (verb === 'quorum' && words.length === 1 && draft.quorum === undefined) {
    const [name] = words as [string];
    draft.quorum = name === 'none' ? null : knownName(draft, name, line);
  } else {
    throw broken(line, '`log`, `witness`, `group` or one `quorum`', [verb, ...words].join(' ').slice(0, 80));
  }
}

function named(before: readonly Named[], vkey: string, url: string | undefined, use: NoteKeyUse, line: number): Named {
  const key = parseNoteKey(vkey);
  if (key.use !== use) throw broken(line, `a key of a ${use}`, `one of a ${key.use}`);
  if (before.some((other) => toHex(other.key.publicKey) === toHex(key.publicKey))) {
    throw broken(line, 'every key once', `${key.name} again`);
  }
  return { key, url: url ?? null };
}

function freshName({ taken }: Draft, name: string, line: number): string {
  if (name === 'none' || taken.has(name)) throw broken(line, 'a name of its own', name);
  taken.add(name);
  return name;
}

function knownName({ taken }: Draft, name: string, line: number): string {
  if (!taken.has(name)) throw broken(line, 'a name from a line before', name);
  return name;
}

function readGroup(draft: Draft, [count, ...members]: readonly string[], line: number): Group {
  const used = new Set([...draft.groups.values()].flatMap((group) => group.members));
  for (const member of members) {
    if (used.has(knownName(draft, member, line))) throw broken(line, 'every member once', member);
    used.add(member);
  }
  const needed = count === 'any' ? 1 : count === 'all' ? members.length : /^[1-9]\d?$/.test(count!) ? Number(count) : 0;
  if (needed < 1 || needed > members.length) throw broken(line, `any, all or 1 to ${members.length}`, count!);
  return { needed, members };
}

/**
 * That a trusted log signed, who of the trusted witnesses saw it, and when a quorum had.
 * @throws Rejection LOG_UNKNOWN where no log of the policy signed for its origin, LOG_SIGNATURE, LOG_COSIGNATURE
 */
export function trustCheckpoint(checkpoint: SignedCheckpoint, policy: TrustPolicy): TrustedCheckpoint {
  const keys = policy.logs.map(({ key }) => key).filter(({ name }) => name === checkpoint.origin);
  const signed = keys.filter((key) => isSignedBy(checkpoint.note, key));
  if (signed.length === 0) {
    throw new Rejection('LOG_UNKNOWN', {
      expected: `a signature by a log of the trust policy: ${policy.logs.map(({ key }) => key.name).join(', ') || 'none'}`,
      got: `a checkpoint of ${checkpoint.origin}`,
      rule: 'C2SP tlog-policy',
      action: 'add the log to the trust policy, once you know its key from elsewhere',
    });
  }
  const sightings = policy.witnesses.flatMap(({ name, key }) => {
    const at = cosignedAt(checkpoint, key);
    return at === null ? [] : [{ witness: name, organisation: organisationOf(key.name), at }];
  });
  const own = organisationOf(checkpoint.origin);
  const others = sightings.map(({ organisation }) => organisation).filter((organisation) => organisation !== own);
  return { checkpoint, sightings, witnessedAt: quorumTime(policy, sightings), independent: [...new Set(others)] };
}

/** When the last of those had seen it whom the quorum needs. */
function quorumTime({ quorum, groups }: TrustPolicy, sightings: readonly Sighting[]): number | null {
  const timeOf = (name: string): number => {
    const group = groups.get(name);
    if (group === undefined) return sightings.find(({ witness }) => witness === name)?.at ?? Infinity;
    return group.members.map(timeOf).toSorted((a, b) => a - b)[group.needed - 1]!;
  };
  const at = quorum === null ? Infinity : timeOf(quorum);
  return at === Infinity ? null : at;
}

/** `example.org` of `example.org/log/2026`. */
function organisationOf(keyName: string): string {
  return keyName.split('/')[0]!;
}

function broken(line: number, expected: string, got: string): Rejection {
  const place = line === 0 ? '' : `line ${line}: `;
  return new Rejection('LOG_TRUST_POLICY', {
    expected: `${place}${expected}`,
    got,
    rule: 'C2SP tlog-policy',
    action: 'mend the file',
  });
}
