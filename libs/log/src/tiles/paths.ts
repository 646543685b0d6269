/** Where tiles and entry bundles of a log are (C2SP tlog-tiles). */

/** Hashes of a full tile, and entries of a full bundle. */
export const tileWidth = 256;

/** @param width  1 to 255 where the tile is not full yet */
export function tilePath(level: number, index: number, width = tileWidth): string {
  return `tile/${level}/${numbered(index, width)}`;
}

export function entriesPath(index: number, width = tileWidth): string {
  return `tile/entries/${numbered(index, width)}`;
}

/** 1234067 is x001/x234/067. */
function numbered(index: number, width: number): string {
  const digits = String(index);
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/\d{3}/g)!;
  const path = groups.map((group, at) => (at < groups.length - 1 ? `x${group}` : group)).join('/');
  return width === tileWidth ? path : `${path}.p/${width}`;
}

/** How many hashes a tile has in a tree of `size` leaves. */
export function widthOf(level: number, index: number, size: number): number {
  const count = Math.floor(size / tileWidth ** level);
  return Math.max(0, Math.min(tileWidth, count - index * tileWidth));
}

/** The one spelling of a tile's or bundle's path, below the prefix of the log. */
export const tilePattern =
  /^tile\/(?:entries|[0-9]|[1-5][0-9]|6[0-3])\/(?:x\d{3}\/){0,5}\d{3}(?:\.p\/(?:[1-9]\d?|1\d\d|2[0-4]\d|25[0-5]))?$/;
