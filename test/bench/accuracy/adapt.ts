/** Start of a net with adapters: the parameters of its base where it has them, its own where it has not. */

interface Named {
  readonly name: string;
}

/** @param drawn of the net, whose frozen layers `<id>.base` are the base's `<id>` */
export function adaptedFrom<T extends Named>(drawn: readonly T[], base: readonly T[]): T[] {
  const byName = new Map(base.map((tensor) => [tensor.name, tensor]));
  return drawn.map((tensor) => {
    const found = byName.get(tensor.name.replace('.base.', '.'));
    return found === undefined ? tensor : { ...found, name: tensor.name };
  });
}
