/** What was measured and signed, and what a node merely reported. */
import type { BundleFacts, BundleVerdict } from '#libs/review';
import { Curve } from '../ui/curve.js';
import type { Standing } from './links.js';
import type { LossCurve } from './open.js';
import { grouped, plain } from './text.js';
import { qualityWords, standingWords, words } from './words.js';

interface Props {
  readonly verdict: BundleVerdict;
  readonly loss: LossCurve | undefined;
  readonly progress: BundleFacts['progress'];
  /** Of what the measurements hang on. */
  readonly standing: Standing;
}

export function Quality({ verdict, loss, progress, standing }: Props) {
  const { evaluations } = verdict;
  return (
    <section aria-labelledby="quality">
      <h2 id="quality">{words.quality}</h2>
      {evaluations === null ? (
        <p class="note">{progress === 'none' ? words.noProgress : words.noCurve}</p>
      ) : (
        <Attested evaluations={evaluations} standing={standing} />
      )}
      {loss !== undefined && <Reported loss={loss} />}
    </section>
  );
}

interface AttestedProps {
  readonly evaluations: NonNullable<BundleVerdict['evaluations']>;
  readonly standing: Standing;
}

function Attested({ evaluations, standing }: AttestedProps) {
  const { curve, records, deliveredStep, reason } = evaluations;
  // A file's maker signs what he likes: not every evaluation has the metrics of the first.
  const names = [...new Set(curve.flatMap(({ metrics }) => metrics.map(({ metric }) => metric)))];
  const curves = names.map((name) => ({ name, points: pointsOf(curve, name) }));
  return (
    <>
      <p class="note">
        {qualityWords[standing]} {grouped(records)} rows; the state after step {grouped(deliveredStep)} was delivered
        {reason === 'stopped' &&
          `, and the announced rule ended the training after step ${grouped(curve.at(-1)!.step)}`}
        .
      </p>
      {curves.map(({ name, points }) =>
        points.length < 2 ? null : (
          <figure key={name}>
            <figcaption>
              <strong>{plain(name)}</strong>{' '}
              <span class={standing === 'holds' ? 'tag' : 'tag reported'}>{standingWords[standing]}</span>
            </figcaption>
            <Curve
              points={points}
              dots
              label={`${name} after each evaluation, from ${points[0]!.figure} to ${points.at(-1)!.figure}`}
            />
          </figure>
        ),
      )}
      <details>
        <summary>as a table</summary>
        <div class="scroll" role="region" aria-label="evaluations" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">after step</th>
                {names.map((name) => (
                  <th key={name} scope="col">
                    {plain(name)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {curve.map(({ step, metrics }) => (
                <tr key={step}>
                  <th scope="row">
                    {grouped(step)}
                    {step === deliveredStep ? ', delivered' : ''}
                  </th>
                  {names.map((name) => (
                    <td key={name}>{plain(shownOf(metrics, name))}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </>
  );
}

function Reported({ loss }: { readonly loss: LossCurve }) {
  const points = loss.points.map(({ step, loss: y }) => ({ x: step, y }));
  const [first, last] = [loss.points[0]!, loss.points.at(-1)!];
  return (
    <figure>
      <figcaption>
        <strong>{words.loss}</strong> <span class="tag reported">reported</span>
      </figcaption>
      <p class="note">{words.lossText}</p>
      <Curve
        points={points}
        label={`loss from ${first.loss} at step ${first.step} to ${last.loss} at step ${last.step}`}
      />
      <p class="note">
        {grouped(loss.points.length)} points, from {first.loss} to {last.loss}.
      </p>
    </figure>
  );
}

interface Figure {
  readonly metric: string;
  readonly figure: string;
}

type Evaluations = AttestedProps['evaluations']['curve'];

/** Of the evaluations that have it. */
function pointsOf(curve: Evaluations, name: string) {
  return curve.flatMap(({ step, metrics }) => {
    const one = metrics.find(({ metric }) => metric === name);
    return one === undefined ? [] : [{ x: step, y: numberOf(one), figure: one.figure }];
  });
}

function shownOf(metrics: readonly Figure[], name: string): string {
  const one = metrics.find(({ metric }) => metric === name);
  return one === undefined ? 'not measured' : figureOf(one);
}

/** Under its name: `accuracy 95.00 %` is `95.00 %`. */
const figureOf = ({ metric, figure }: Figure): string => figure.replace(metric, '').trim();

/** The number that a person reads: 95. */
const numberOf = (one: Figure): number => Number(/-?\d+(?:\.\d+)?/.exec(figureOf(one))?.[0] ?? 0);
