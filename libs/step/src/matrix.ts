/** Row-major integer matrices of the reference: plain and slow on purpose. */

export interface Matrix {
  readonly rows: number;
  readonly columns: number;
  /** Row-major, length rows·columns. */
  readonly data: readonly bigint[];
}

export function matrix(rows: number, columns: number, at: (row: number, column: number) => bigint): Matrix {
  const data: bigint[] = [];
  for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) data.push(at(r, c));
  return { rows, columns, data };
}

/** Entry-wise image of a matrix. */
export function mapMatrix(x: Matrix, f: (value: bigint, index: number) => bigint): Matrix {
  return { rows: x.rows, columns: x.columns, data: x.data.map(f) };
}

/** Σ_i left(r,i)·right(i,c) over a contraction of length `n`. */
export function contract(
  rows: number,
  columns: number,
  n: number,
  left: (row: number, i: number) => bigint,
  right: (i: number, column: number) => bigint,
): Matrix {
  return matrix(rows, columns, (r, c) => {
    let sum = 0n;
    for (let i = 0; i < n; i++) {
      const factor = left(r, i);
      if (factor !== 0n) sum += factor * right(i, c);
    }
    return sum;
  });
}
