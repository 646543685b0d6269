/**
 * Sums of products of exact integers held in doubles, as a training step needs them. Every partial sum stays below
 * 2^53 (libs/step/SPEC.md §10, R1 to R4), so the order of additions does not show in the result. Strides count doubles.
 */

/**
 * out[u][b] += Σ_k w[u·unitStride + k·inputStride]·x[k][b] for u in begin … end-1, k < inputs, b < batch.
 *
 * @param x     rows of `batch` doubles, `xStride` apart
 * @param out   rows of `batch` doubles, `outStride` apart
 */
export function sumProducts(
  w: usize,
  unitStride: usize,
  inputStride: usize,
  inputs: usize,
  x: usize,
  xStride: usize,
  batch: usize,
  begin: usize,
  end: usize,
  out: usize,
  outStride: usize,
): void {
  for (let u = begin; u < end; u += 2) {
    const row = w + ((u * unitStride) << 3);
    const target = out + ((u * outStride) << 3);
    const paired = u + 1 < end;
    let b: usize = 0;
    if (paired) {
      for (; b + 8 <= batch; b += 8) {
        const at = target + (b << 3);
        sumTile(row, unitStride << 3, inputStride << 3, inputs, x + (b << 3), xStride << 3, at, at + (outStride << 3));
      }
    }
    for (; b < batch; b++) {
      sumOne(row, inputStride << 3, inputs, x + (b << 3), xStride << 3, target + (b << 3));
      if (!paired) continue;
      const second = target + ((outStride + b) << 3);
      sumOne(row + (unitStride << 3), inputStride << 3, inputs, x + (b << 3), xStride << 3, second);
    }
  }
}

function sumOne(w: usize, wStep: usize, inputs: usize, x: usize, xStep: usize, out: usize): void {
  let sum = load<f64>(out);
  for (let k: usize = 0; k < inputs; k++) sum += load<f64>(w + k * wStep) * load<f64>(x + k * xStep);
  store<f64>(out, sum);
}

/** Two units times eight columns. */
// @ts-ignore: decorator
@inline
function sumTile(
  w: usize,
  unitStep: usize,
  wStep: usize,
  inputs: usize,
  x: usize,
  xStep: usize,
  out0: usize,
  out1: usize,
): void {
  let a0 = v128.load(out0, 0);
  let a1 = v128.load(out0, 16);
  let a2 = v128.load(out0, 32);
  let a3 = v128.load(out0, 48);
  let b0 = v128.load(out1, 0);
  let b1 = v128.load(out1, 16);
  let b2 = v128.load(out1, 32);
  let b3 = v128.load(out1, 48);
  let atW = w;
  let atX = x;
  for (let k: usize = 0; k < inputs; k++) {
    const p = v128.load_splat<u64>(atW);
    const q = v128.load_splat<u64>(atW + unitStep);
    const x0 = v128.load(atX, 0);
    const x1 = v128.load(atX, 16);
    const x2 = v128.load(atX, 32);
    const x3 = v128.load(atX, 48);
    a0 = f64x2.add(a0, f64x2.mul(p, x0));
    a1 = f64x2.add(a1, f64x2.mul(p, x1));
    a2 = f64x2.add(a2, f64x2.mul(p, x2));
    a3 = f64x2.add(a3, f64x2.mul(p, x3));
    b0 = f64x2.add(b0, f64x2.mul(q, x0));
    b1 = f64x2.add(b1, f64x2.mul(q, x1));
    b2 = f64x2.add(b2, f64x2.mul(q, x2));
    b3 = f64x2.add(b3, f64x2.mul(q, x3));
    atW += wStep;
    atX += xStep;
  }
  v128.store(out0, a0, 0);
  v128.store(out0, a1, 16);
  v128.store(out0, a2, 32);
  v128.store(out0, a3, 48);
  v128.store(out1, b0, 0);
  v128.store(out1, b1, 16);
  v128.store(out1, b2, 32);
  v128.store(out1, b3, 48);
}

/**
 * out[i][o] -= factor·Σ_b a[i][b]·g[o][b] for i in begin … end-1, o < outputs, b < batch.
 *
 * @param a     rows of `batch` doubles, `aStride` apart; g likewise
 * @param out   rows of `outputs` doubles, `outStride` apart
 */
export function subtractOuter(
  a: usize,
  aStride: usize,
  begin: usize,
  end: usize,
  g: usize,
  gStride: usize,
  outputs: usize,
  batch: usize,
  factor: i32,
  out: usize,
  outStride: usize,
): void {
  const even = batch & ~1;
  for (let i = begin; i < end; i++) {
    const row = a + ((i * aStride) << 3);
    const target = out + ((i * outStride) << 3);
    for (let o: usize = 0; o < outputs; o++) {
      const other = g + ((o * gStride) << 3);
      let sum = dotDoubles(row, other, even << 3);
      if (even < batch) sum += load<f64>(row + (even << 3)) * load<f64>(other + (even << 3));
      const at = target + (o << 3);
      store<f64>(at, load<f64>(at) - <f64>factor * sum);
    }
  }
}

// @ts-ignore: decorator
@inline
function dotDoubles(a: usize, b: usize, bytes: usize): f64 {
  let s0 = f64x2.splat(0);
  let s1 = f64x2.splat(0);
  let i: usize = 0;
  for (; i + 32 <= bytes; i += 32) {
    s0 = f64x2.add(s0, f64x2.mul(v128.load(a + i), v128.load(b + i)));
    s1 = f64x2.add(s1, f64x2.mul(v128.load(a + i, 16), v128.load(b + i, 16)));
  }
  if (i < bytes) s0 = f64x2.add(s0, f64x2.mul(v128.load(a + i), v128.load(b + i)));
  const s = f64x2.add(s0, s1);
  return f64x2.extract_lane(s, 0) + f64x2.extract_lane(s, 1);
}

/**
 * table[v] += 1 for v = Σ_k coefficients[k]·column_k[i] + constant, i in begin … end-1, wherever v is a whole number in
 * 0 … size-1.
 *
 * @param columns        `terms` u32 addresses of arrays
 * @param coefficients   `terms` doubles, and behind them the constant
 */
export function countSums(
  columns: usize,
  coefficients: usize,
  terms: usize,
  begin: usize,
  end: usize,
  size: u32,
  table: usize,
): void {
  for (let i = begin << 3; i < end << 3; i += 8) {
    let sum: f64 = 0;
    let coefficient = coefficients;
    for (let k: usize = 0; k < terms; k++) {
      sum += load<f64>(coefficient) * load<f64>(<usize>load<u32>(columns + (k << 2)) + i);
      coefficient += 8;
    }
    sum += load<f64>(coefficient);
    const entry = <i32>sum;
    if (<f64>entry != sum || <u32>entry >= size) continue;
    const at = table + ((<usize>entry) << 3);
    store<f64>(at, load<f64>(at) + 1);
  }
}
