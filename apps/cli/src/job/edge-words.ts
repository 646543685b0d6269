/** What is said of the edges of a net in a line of progress. */
import type { EdgeFigures } from '#libs/client/api';

/**
 * @returns how much of all edges lies at an end of its range, and which share of errors is 0, each with the edge where that
 * is most; nothing of what was not counted
 */
export function edgeWords(edges: readonly EdgeFigures[]): string[] {
  return [
    words('saturated', edges, (edge) => [edge.saturatedValues + edge.saturatedErrors, edge.values + edge.errors]),
    words('zero errors', edges, (edge) => [edge.zeroErrors, edge.errors]),
  ].flat();
}

type Part = readonly [part: number, of: number];

function words(name: string, edges: readonly EdgeFigures[], partOf: (edge: EdgeFigures) => Part): string[] {
  const parts = edges.map((edge) => ({ edge: edge.edge, part: partOf(edge) })).filter(({ part: [, of] }) => of > 0);
  if (parts.length === 0) return [];
  const sum = parts.reduce<Part>(([part, of], { part: [more, ofMore] }) => [part + more, of + ofMore], [0, 0]);
  const [worst] = parts.toSorted((a, b) => b.part[0] / b.part[1] - a.part[0] / a.part[1]);
  const most = parts.length === 1 || sum[0] === 0 ? '' : ` (${worst!.edge} ${percent(worst!.part)})`;
  return [`${name} ${percent(sum)}${most}`];
}

/** A share that is not 0 is not shown as 0. */
function percent([part, of]: Part): string {
  const share = (100 * part) / of;
  return `${share === 0 || share >= 0.1 ? share.toFixed(share >= 10 ? 0 : 1).replace(/\.0$/, '') : '<0.1'} %`;
}
