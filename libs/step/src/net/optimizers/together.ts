/** Small tensors that move alike are moved as one: a node takes as long as some thousand elements (libs/step/SPEC.md §26). */
import { sizeOf } from '../../tensors.js';
import type { NetEmitter } from '../emitter.js';
import type { Moved, Updated } from './optimizer.js';

/** Elements of a tensor up to which joining it takes less time than nodes of its own. */
const smallSize = 4096;

/**
 * @param gradients `h` of each parameter, in their order
 * @param update    element by element; of a parameter it reads what is one within a group, fraction and decay
 */
export function emitTogether(
  e: NetEmitter,
  moved: readonly Moved<string>[],
  gradients: readonly string[],
  update: (one: Moved<string>, h: string) => Updated<string>,
): readonly Updated<string>[] {
  const groups = new Map<string, number[]>();
  moved.forEach(({ parameter: { dims, fraction, decays } }, i) => {
    const name = sizeOf(dims) > smallSize ? String(i) : `small ${fraction} ${decays}`;
    groups.set(name, [...(groups.get(name) ?? []), i]);
  });
  const updated = new Map<number, Updated<string>>();
  for (const places of groups.values()) {
    const parts = places.map((i) => moved[i]!);
    const [first] = parts;
    if (parts.length === 1) {
      updated.set(places[0]!, update(first!, gradients[places[0]!]!));
      continue;
    }
    const shapes = parts.map(({ parameter }) => parameter.dims);
    const joined = {
      ...{
        ...first!,
        W: join(
          e,
          parts.map(({ W }) => W),
        ),
      },
      state: first!.state.map((_, at) =>
        join(
          e,
          parts.map(({ state }) => state[at]!),
        ),
      ),
    };
    const next = update(
      joined,
      join(
        e,
        places.map((i) => gradients[i]!),
      ),
    );
    const [W, ...state] = [next.W, ...next.state].map((name) => part(e, name, shapes));
    places.forEach((i, at) => updated.set(i, { W: W![at]!, state: state.map((names) => names[at]!) }));
  }
  return moved.map((_, i) => updated.get(i)!);
}

function join(e: NetEmitter, names: readonly string[]): string {
  return e.concat(
    names.map((name) => e.reshape(name, [-1])),
    0,
  );
}

function part(e: NetEmitter, name: string, shapes: readonly (readonly number[])[]): readonly string[] {
  return e.split(name, shapes.map(sizeOf)).map((piece, at) => e.reshape(piece, shapes[at]!));
}
