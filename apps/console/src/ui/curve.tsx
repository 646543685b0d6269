/** A curve as SVG: per column of pixels the least and the most, so that a hundred thousand points stay what they are. */
interface Point {
  readonly x: number;
  readonly y: number;
}

const [width, height] = [640, 160];
const [left, right, top, bottom] = [52, 12, 12, 26];

export function Curve({
  points,
  label,
  dots,
  bounds,
}: {
  readonly points: readonly Point[];
  readonly label: string;
  readonly dots?: boolean;
  /** What no value can pass. */
  readonly bounds?: readonly [least: number, most: number] | undefined;
}) {
  const frame = frameOf(points, bounds);
  const place = (point: Point): string => `${frame.x(point.x).toFixed(1)},${frame.y(point.y).toFixed(1)}`;
  return (
    <svg class="curve" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      {[frame.least, (frame.least + frame.most) / 2, frame.most].map((value) => (
        <g key={value}>
          <line class="grid" x1={left} x2={width - right} y1={frame.y(value)} y2={frame.y(value)} />
          <text x={left - 8} y={frame.y(value) + 4} text-anchor="end">
            {figure(value)}
          </text>
        </g>
      ))}
      <text x={left} y={height - 6}>{`step ${points[0]!.x.toLocaleString('en-US')}`}</text>
      <text x={width - right} y={height - 6} text-anchor="end">
        {points.at(-1)!.x.toLocaleString('en-US')}
      </text>
      <polyline points={thinned(points, frame).map(place).join(' ')} />
      {dots === true &&
        points.map((point) => <circle key={point.x} cx={frame.x(point.x)} cy={frame.y(point.y)} r="3.5" />)}
    </svg>
  );
}

interface Frame {
  readonly least: number;
  readonly most: number;
  x(value: number): number;
  y(value: number): number;
}

function frameOf(points: readonly Point[], [floor, roof]: readonly [number, number] = [-Infinity, Infinity]): Frame {
  let [least, most] = [Infinity, -Infinity];
  for (const { y } of points) [least, most] = [Math.min(least, y), Math.max(most, y)];
  if (least === most) {
    [least, most] = [Math.min(least, Math.max(floor, least - 1)), Math.max(most, Math.min(roof, most + 1))];
  }
  const [from, to] = [points[0]!.x, points.at(-1)!.x];
  return {
    ...{ least, most },
    x: (value) => left + ((value - from) / (to - from || 1)) * (width - left - right),
    y: (value) => top + ((most - value) / (most - least)) * (height - top - bottom),
  };
}

function thinned(points: readonly Point[], frame: Pick<Frame, 'x'> = frameOf(points)): readonly Point[] {
  if (points.length <= 2 * width) return points;
  const kept: Point[] = [];
  let column: Point[] = [];
  const end = (): void => {
    if (column.length === 0) return;
    const low = column.reduce((a, b) => (b.y < a.y ? b : a));
    const high = column.reduce((a, b) => (b.y > a.y ? b : a));
    kept.push(...(low.x <= high.x ? [low, high] : [high, low]));
    column = [];
  };
  for (const point of points) {
    if (column.length > 0 && Math.floor(frame.x(point.x)) !== Math.floor(frame.x(column[0]!.x))) end();
    column.push(point);
  }
  end();
  return kept;
}

/** At most six signs, which is what the margin holds. */
function figure(value: number): string {
  const most = Math.abs(value);
  if (most >= 1e6 || (most > 0 && most < 0.01)) return value.toExponential(1);
  return most >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
