/** What was laid beside a bundle: each file with what became of it. */
import { policyFault } from '#libs/review';
import type { Judgement } from './judge.js';
import { isBundle, type NamedFile, type Opened } from './open.js';
import { WithCode } from '../ui/with-code.js';
import { plain } from './text.js';
import { materialWords, words } from './words.js';

interface BesideProps {
  readonly opened: Opened;
  readonly judgement: Judgement | undefined;
  readonly onRemove: (file: NamedFile) => void;
}

/** Everything that was dropped beside the bundle, and what became of it: nothing is passed over in silence. */
export function Beside({ opened, judgement, onRemove }: BesideProps) {
  const { material, unknown, policy, key, curve, report, bundle, logExport, start } = opened;
  const countsIn = (verdict: 'today' | 'was', digest: string): boolean =>
    judgement?.[verdict].material.some(({ sha256, counts }) => counts && sha256 === digest) === true;
  const stateOf = (digest: string): string => {
    if (bundle === undefined) return 'waits for a bundle';
    if (countsIn('was', digest)) return 'judged by it';
    return countsIn('today', digest) ? 'counts at the other time' : 'changes no check';
  };
  const lines: (readonly [NamedFile, string])[] = [
    ...(policy === undefined ? [] : [[policy.file, 'policy: judged by it'] as const]),
    ...(key === undefined ? [] : [[key.file, 'Groth16 key: the only one that is taken'] as const]),
    ...(logExport === undefined ? [] : [[logExport.file, logExportState(judgement)] as const]),
    ...(start === undefined ? [] : [[start, 'start weights: compared with those that the manifest names'] as const]),
    ...material.map((one) => [one.file, `${materialWords[one.kind]}: ${stateOf(one.sha256)}`] as const),
    ...(curve === undefined ? [] : [[curve.file, `events: ${curve.points.length} points of loss, reported`] as const]),
    ...(report === undefined || bundle !== undefined
      ? []
      : [[report, 'a signed report: drop its bundle too'] as const]),
    ...unknown.map((file) => [file, unknownState(file)] as const),
  ];
  if (lines.length === 0) return null;
  return (
    <section class="beside" aria-labelledby="beside">
      <h2 id="beside">{words.material}</h2>
      <ul class="plainlist">
        {lines.map(([file, state], index) => (
          <li key={index}>
            <strong>{plain(file.name)}</strong>: <WithCode text={state} />{' '}
            <button type="button" class="quiet no-print" onClick={() => onRemove(file)}>
              remove<span class="unseen"> {plain(file.name)}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function unknownState(file: NamedFile): string {
  if (isBundle(file)) return words.secondBundle;
  const fault = policyFault(file.bytes);
  if (fault === undefined) return isModel(file) ? words.modelFile : 'not recognised: it changes nothing';
  const { code, expected, got, action } = fault;
  return `a policy that nobody may judge by, so nothing is judged by it. ${code}: expected ${plain(expected)}, got ${plain(got)}. What to do: ${plain(action)}`;
}

/** Exported weights have no form of their own to tell them by. */
const isModel = ({ name }: NamedFile): boolean => /\.(onnx|safetensors|npz|gguf|pt)$/i.test(name);

function logExportState(judgement: Judgement | undefined): string {
  if (judgement === undefined) return 'export of a log: waits for a bundle';
  const isAsked = judgement.today.checks.some(({ id }) => id === 'LOG_REVOKED');
  return isAsked ? 'export of a log: counts at the other time' : 'export of a log: changes no check';
}
