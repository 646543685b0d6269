/** How far long work is, on standard error: a line for people, or with --json one JSON document a line. */
import type { Progress, Watch } from '#libs/client';
import type { ProofUnit } from '#libs/proof';
import { log, type OutputOptions } from './output.js';

const pauseMs = 1000;
/** Speed is that of the last lines: what an earlier call has left is passed over at once. */
const linesKept = 10;

interface Said {
  readonly at: number;
  readonly done: number;
}

/** At most one line a second, none that says what the last one said, and one at the end of every stage. @param now milliseconds */
export function showProgress(
  { json = false }: OutputOptions,
  say: (line: string) => void = log,
  now: () => number = () => performance.now(),
): Required<Pick<Watch, 'onProgress'>> {
  let stage = '';
  let said: Said[] = [];
  return {
    onProgress(progress) {
      const { done, of } = progress;
      const at = now();
      if (progress.stage !== stage) [stage, said] = [progress.stage, []];
      const last = said.at(-1);
      const isDue = last === undefined || (last.done !== done && (done === of || at - last.at >= pauseMs));
      if (!isDue) return;
      const etaSeconds = secondsLeft(said[0], { at, done }, of);
      said = [...said, { at, done }].slice(-linesKept);
      const percent = of === 0 ? null : Math.floor((100 * done) / of);
      say(
        json
          ? JSON.stringify({ progress: { ...progress, percent, etaSeconds } })
          : lineOf(progress, percent, etaSeconds),
      );
    },
  };
}

/** What proofs will take, before anybody pays: a line for people, or with --json one JSON document a line. */
export function showProofs(
  { json = false }: OutputOptions,
  say: (line: string) => void = log,
): NonNullable<Watch['onProofs']> {
  return (unit) => say(json ? JSON.stringify({ proofs: unit }) : proofsLine(unit));
}

function proofsLine({
  steps,
  profile,
  proofs,
  proofBytes,
  transactions,
  gas,
  cpuSeconds,
  memoryBytes,
}: ProofUnit): string {
  const [count, cost] = [
    proofs === 1 ? '1 proof' : `${proofs} proofs`,
    gas === null ? 'gas unknown' : `about ${millions(gas)} gas`,
  ];
  const sent = transactions === 1 ? '1 transaction' : `${transactions} transactions`;
  return (
    `proofs  ${count} of ${steps} steps each (${profile}, about ${Math.round(proofBytes / 1000)} kB): ${sent}, ` +
    `${cost}, ${Math.ceil(cpuSeconds)} s of one core, ${Math.ceil(memoryBytes / 2 ** 20)} MiB`
  );
}

const millions = (gas: number): string => `${(gas / 1e6).toFixed(1)} M`;

/** Null where nobody can know yet. */
function secondsLeft(from: Said | undefined, to: Said, of: number): number | null {
  if (to.done === of) return 0;
  if (from === undefined || to.done <= from.done || of === 0) return null;
  return Math.ceil(((to.at - from.at) * (of - to.done)) / (to.done - from.done) / 1000);
}

function lineOf({ stage, done, of, unit }: Progress, percent: number | null, etaSeconds: number | null): string {
  const [size, small] = Math.max(done, of) < 1e6 ? [1e3, 'kB'] : [1e6, 'MB'];
  const amount = (count: number): string => (unit === 'bytes' ? (count / size).toFixed(1) : String(count));
  const name = unit === 'bytes' ? small : unit;
  if (percent === null) return `${stage.padEnd(7)} ${amount(done)} ${name}`;
  const left = etaSeconds === null || done === of ? '' : `, ${etaSeconds} s left`;
  return `${stage.padEnd(7)} ${percent} %  ${amount(done)} of ${amount(of)} ${name}${left}`;
}
