/**
 * Sixteen bugs that an earlier version had or that were planted in it (settlement §15). Each is planted here again, and
 * the tests must fail.
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
    from: 'c.challenger != address(0) || j.flags & FLAG_ALL_DUE != 0',
    to: 'j.flags & FLAG_ALL_DUE != 0',
  },
  { name: 'a proved segment is challenged again', contract: 'Duties', from: 'isProved(id, segment)', to: 'false' },
  {
    name: 'the bond of a lost duty stays locked',
    contract: 'Duties',
    from: '_credit(challenger, terms.token, terms.bond);',
    to: '',
  },
  {
    name: 'finalize with open duties',
    contract: 'Settlement',
    from:
      'if (!_dutiesMet(id, terms, j)) revert DUTY_OPEN();\n' +
      '        if (j.flags & FLAG_MISSING != 0) revert DELIVERY_PENDING();',
    to: 'if (j.flags & FLAG_MISSING != 0) revert DELIVERY_PENDING();',
  },
  {
    name: 'borders of a proof need not be committed',
    contract: 'Duties',
    from:
      '!BorderTree.contains(j.root, count, segment, t.before, t.pathBefore)\n' +
      '                || !BorderTree.contains(j.root, count, segment + 1, t.afterwards, t.pathAfter)',
    to: 'false',
  },
  {
    name: 'a proof serves any index',
    contract: 'Duties',
    from: 'Statements.segment(id, segment, before, afterwards)',
    to: 'Statements.segment(id, 0, before, afterwards)',
  },
  {
    name: 'all but one segment is enough',
    contract: 'Duties',
    from: 'flags & FLAG_ALL_DUE != 0 && j.proved != j.upTo',
    to: 'flags & FLAG_ALL_DUE != 0 && j.proved + 1 < j.upTo',
  },
  {
    name: 'open duties do not extend the next deadline',
    contract: 'Running',
    from: 'if (j.lastDeadline > base) base = j.lastDeadline;',
    to: '',
  },
  {
    name: 'finalize before the challenge window ends',
    contract: 'Settlement',
    from: 'terms.windows.challenge != 0 && !settledByProof',
    to: 'false',
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
    name: 'escalation opens no duties',
    contract: 'Duties',
    from: 'if (j.flags & FLAG_SAMPLE_DUE == 0) _decideDuties(id, terms, j, false);',
    to: '',
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
    from:
      'delete _challenges[id][segment];\n        j.openDuties -= 1;\n' +
      '        emit BondRefunded(id, segment, challenger, terms.bond);',
    to: 'emit BondRefunded(id, segment, challenger, terms.bond);',
  },
  {
    name: 'a seal for another run is taken',
    contract: 'Running',
    from: '(key, tier) = _checkSeal(id, terms, run, provider, upTo, root);',
    to: '(key, tier) = (address(uint160(uint256(root))), terms.minTier);',
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
