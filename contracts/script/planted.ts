/**
 * Bugs that an earlier version had or that were planted in it, and each rule of the invariants taken away
 * (contracts/SPEC.md §15). Each is planted here again, and the tests must fail.
 *
 *   node --conditions=source --import @oxc-node/core/register contracts/script/planted.ts [REPORT.json]
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PlacedMutant } from './mutants.js';
import { root } from './mutation-copy.js';
import { tryMutants } from './mutation-report.js';

interface Planted {
  readonly name: string;
  readonly contract: string;
  /** Stands once in the contract; a statement ends in a semicolon. */
  readonly from: string;
  readonly to: string;
}

const bugs: readonly Planted[] = [
  {
    name: 'a second challenge overwrites the first',
    contract: 'Duties',
    from: 'c.challenger != address(0) || d.flags & DUTY_ALL != 0',
    to: 'd.flags & DUTY_ALL != 0',
  },
  {
    name: 'a proved segment is challenged again',
    contract: 'Duties',
    from: '_proved[msg.sender][job][segment >> 8] & (1 << (segment & 255)) != 0',
    to: 'false',
  },
  {
    name: 'the bond of a lost duty stays locked',
    contract: 'Disputes',
    from: 'if (challenger != address(0)) _refund(id, terms, segment, challenger);',
    to: '',
  },
  { name: 'finalize with open duties', contract: 'Settlement', from: 'if (!met) revert DUTY_OPEN();', to: '' },
  {
    name: 'borders of a proof need not be committed',
    contract: 'Duties',
    from: '!BorderTree.contains(d.root, count, segment, t.before, t.pathBefore)\n                || !BorderTree.contains(d.root, count, segment + 1, t.afterwards, t.pathAfter)',
    to: 'false',
  },
  {
    name: 'a proof serves any index',
    contract: 'Duties',
    from: 'Statements.segment(job, segment, before, afterwards)',
    to: 'Statements.segment(job, 0, before, afterwards)',
  },
  {
    name: 'all but one segment is enough',
    contract: 'Duties',
    from: 'if (d.proved == d.upTo) return true;\n        if (flags & DUTY_ALL != 0) return false;',
    to: 'if (d.proved + 1 >= d.upTo) return true;\n        if (flags & DUTY_ALL != 0) return false;',
  },
  {
    name: 'open duties do not extend the next deadline',
    contract: 'Duties',
    from: 'if (d.lastDeadline > base) base = d.lastDeadline;',
    to: '',
  },
  {
    name: 'finalize before the challenge window ends',
    contract: 'Settlement',
    from: 'from = uint256(j.since) + terms.windows.challenge;',
    to: 'from = uint256(j.since);',
  },
  { name: 'a voucher pays twice', contract: 'Running', from: 'j.paid = cumulative;', to: '' },
  {
    name: 'abandon pays the stake to both',
    contract: 'JobStore',
    from: '_unlock(provider, terms.token, terms.stake, lost);',
    to: '_unlock(provider, terms.token, terms.stake, 0);',
  },
  {
    name: 'a wei is lost in the split',
    contract: 'JobStore',
    from: 'burnt = lost - share - toChallenger;',
    to: 'burnt = challenger == address(0) ? lost / 2 : lost / 3;',
  },
  {
    name: 'a seal taken away opens no duties',
    contract: 'Disputes',
    from: 'duties.unseal(id, terms, _endsUnsealed(terms, j))',
    to: '0',
  },
  {
    name: 'the run may start elsewhere',
    contract: 'Running',
    from: 'run.borders[0] != terms.initialWeights',
    to: 'false',
  },
  {
    name: 'a bond is refunded twice',
    contract: 'Duties',
    from: 'delete _challenges[msg.sender][job][segment];\n        _duties[msg.sender][job].open -= 1;',
    to: '',
  },
  {
    name: 'a seal for another run is taken',
    contract: 'Keys',
    from: 'key = Signatures.recover(Statements.digest(msg.sender, statement), seal[4:]);',
    to: 'key = keys[0];',
  },
  {
    name: 'a REVEAL job whose seal is gone is paid',
    contract: 'Disputes',
    from: 'terms.mode & MODE_REVEAL != 0 || terms.dutySelectors.length == 0',
    to: 'terms.dutySelectors.length == 0',
  },
  {
    name: 'taking the seal away renews the deadline of a FULL job',
    contract: 'Duties',
    from: 'd.flags & DUTY_ALL == 0 && d.upTo != 0',
    to: 'd.upTo != 0',
  },
  {
    name: 'a prefix is paid before the key is shown',
    contract: 'Settlement',
    from: 'terms.mode & (MODE_FULL | MODE_REVEAL) == MODE_FULL',
    to: 'terms.mode & MODE_FULL != 0',
  },
  {
    name: 'terms with REVEAL pay by prefix',
    contract: 'TermsRules',
    from: 'reveal || terms.windows.hold != 0',
    to: 'terms.windows.hold != 0',
  },
  {
    name: 'hold does not delay a prefix',
    contract: 'Settlement',
    from: '_past(lastDuty + terms.windows.hold);',
    to: '',
  },
  {
    name: 'a proof that forestalls a challenge does not wait for hold',
    contract: 'Duties',
    from: 'inWindow && terms.mode & (MODE_OPTIMISTIC | MODE_TEE) != 0',
    to: 'false',
  },
  {
    name: 'a proof that forestalls a challenge is not asked for',
    contract: 'Disputes',
    from: 'if (inWindow) j.flags |= FLAG_DUTIES;',
    to: '',
  },
  {
    name: 'proofs after the window delay a payment',
    contract: 'Duties',
    from: 'inWindow && terms.mode & (MODE_OPTIMISTIC | MODE_TEE) != 0',
    to: 'terms.mode & (MODE_OPTIMISTIC | MODE_TEE) != 0',
  },
  { name: 'a revoked key seals', contract: 'Keys', from: 'if (facts & REVOKED != 0) revert KEY_REVOKED(k);', to: '' },
  {
    name: 'a condemned machine seals',
    contract: 'Keys',
    from: 'if (_isCondemned(snpPolicy, k)) revert KEY_CONDEMNED(k);',
    to: '',
  },
  {
    name: 'a key seals a job to which nobody released',
    contract: 'Keys',
    from: 'if (facts & BOUND == 0) revert KEY_UNBOUND(k);',
    to: '',
  },
  {
    name: 'any account releases',
    contract: 'Keys',
    from: 'Signatures.requireSigner(Statements.digest(msg.sender, release), g.signature, terms.keyBroker);',
    to: '',
  },
  {
    name: 'any account revokes',
    contract: 'libraries/Signatures',
    from: 'revert QUORUM_SIGNER(signer);',
    to: 'return 0;',
  },
  {
    name: 'one attestor is two',
    contract: 'Keys',
    from: 'place = Signatures.placeOf(terms.attestors, place, signer) + 1;',
    to: 'Signatures.placeOf(terms.attestors, 0, signer);',
  },
  {
    name: 'time ends a bound key',
    contract: 'Keys',
    from: 'return _isCondemned(snpPolicy, key) ? KeyEnd.Condemned : KeyEnd.None;',
    to: 'if (snpPolicy != 0 && block.timestamp > registry.registrationOf(key, snpPolicy).notAfter) return KeyEnd.Condemned; return _isCondemned(snpPolicy, key) ? KeyEnd.Condemned : KeyEnd.None;',
  },
  {
    name: 'losing the seal costs the stake',
    contract: 'Disputes',
    from: 'if (byUnseal) return _end(id, terms, j, State.Unsealed, 0);',
    to: '',
  },
  {
    name: 'a seal is taken away after the window',
    contract: 'Disputes',
    from: 'if (j.flags & FLAG_SEALED == 0) revert CHALLENGE_CLOSED();\n        _inWindow(terms, j);',
    to: 'if (j.flags & FLAG_SEALED == 0) revert CHALLENGE_CLOSED();',
  },
  {
    name: 'finalize before the key is shown',
    contract: 'Settlement',
    from: 'if (j.flags & FLAG_SEALED == 0 || delivered != j.delivery) revert DELIVERY_KEY();',
    to: '',
  },
  {
    name: 'the key is not shown before the money moves',
    contract: 'Settlement',
    from: 'emit KeyRevealed(id, ciphertextDigest, key);',
    to: '',
  },
  {
    name: 'a complaint after payment opened',
    contract: 'Handover',
    from: '_inTime(j.ackUntil);\n        j.flags |= FLAG_MISSING;',
    to: 'j.flags |= FLAG_MISSING;',
  },
  {
    name: 'a broker answers the second complaint',
    contract: 'Handover',
    from: 'if (j.flags & FLAG_AVAILABLE != 0) revert DELIVERY_PUBLISH();',
    to: '',
  },
  { name: 'a complaint costs nothing', contract: 'Handover', from: '_pull(terms.token, terms.publishFee);', to: '' },
  { name: 'half a ciphertext is published', contract: 'Delivery', from: 'bits == (1 << count) - 1', to: 'bits != 0' },
  {
    name: 'a resignation costs liveness',
    contract: 'Running',
    from: '_end(id, terms, j, State.Resigned, 0);',
    to: '_end(id, terms, j, State.Resigned, 0, terms.liveness, address(0));',
  },
  {
    name: 'a sample is drawn at once',
    contract: 'Duties',
    from: 'if (block.timestamp < d.drawFrom) revert TOO_EARLY(d.drawFrom);',
    to: '',
  },
  {
    name: 'a sample that nobody draws sticks',
    contract: 'Duties',
    from: '(undrawn && block.timestamp > d.drawUntil + DRAW_GRACE)',
    to: 'false',
  },
  {
    name: 'proofs that nobody owes delay',
    contract: 'Duties',
    from: 'challenger != address(0) || forestalls || _isInSet(d, terms, segment)',
    to: 'true',
  },
  {
    name: 'what judges keys judges segments',
    contract: 'TermsRules',
    from: 'if (isKeys != keys) revert TERMS_KIND(selector);',
    to: '',
  },
  {
    name: 'a run stops early where the terms have no rule',
    contract: 'Running',
    from: 'outcome == OUTCOME_EARLY && terms.mode & MODE_EARLY != 0',
    to: 'outcome == OUTCOME_EARLY',
  },
  {
    name: 'an early stop is paid like a whole run',
    contract: 'Settlement',
    from: 'due = due * j.upTo / terms.segments;',
    to: '',
  },
  {
    name: 'terms allow an early stop beside proofs',
    contract: 'TermsRules',
    from: '(mode & MODE_EARLY != 0 && (!tee || proofs))',
    to: '(mode & MODE_EARLY != 0 && !tee)',
  },
  {
    name: 'a token that keeps a fee is taken',
    contract: 'Ledger',
    from: 'if (got != expected) revert PULLED(expected, got);',
    to: '',
  },
  {
    name: 'a guardian ends a job that finalize could pay',
    contract: 'Duties',
    from: 'if (d.lastDuty == 0 || block.timestamp > uint256(d.lastDuty) + terms.windows.hold) return false;',
    to: '',
  },
];

function place({ contract, from, to }: Planted): PlacedMutant {
  const file = `contracts/src/${contract}.sol`;
  const source = readFileSync(join(root, file));
  const start = source.indexOf(from);
  if (start < 0 || source.indexOf(from, start + 1) >= 0) throw new Error(`${file} does not hold once: ${from}`);
  const line = source.subarray(0, start).toString().split('\n').length;
  return { file, line, kind: 'planted', from, to, start, length: Buffer.byteLength(from) };
}

const planted = bugs
  .map((bug) => ({ name: bug.name, mutant: place(bug) }))
  .sort((a, b) => a.mutant.file.localeCompare(b.mutant.file) || a.mutant.start - b.mutant.start);
const mutants = planted.map(({ mutant }) => mutant);
const order = mutants.map((_, i) => i + 1);
const until = Number.POSITIVE_INFINITY;
const results = await tryMutants({ file: process.argv[2] ?? 'planted-report.json', mutants, order, until });
for (const { number, outcome } of results) {
  process.stdout.write(`${outcome === 'killed' ? 'caught' : 'NOT CAUGHT'}: ${planted[number - 1]!.name}\n`);
}
const caught = results.filter(({ outcome }) => outcome === 'killed').length;
process.stdout.write(`${caught} of ${bugs.length} planted bugs fail a test\n`);
process.exitCode = caught === bugs.length ? 0 : 1;
