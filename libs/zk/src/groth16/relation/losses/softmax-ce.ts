/** Softmax cross-entropy by table in a circuit. */
import { expTable, type Loss } from '#libs/step';
import type { CircuitLoss } from './loss.js';

const templates = `// out[j] = [the number with these bits is j].
template OneHot(n) {
  signal input bit[n];
  signal output out[2**n];
  signal node[n + 1][2**n];
  node[0][0] <== 1;
  for (var i = 0; i < n; i++) {
    for (var j = 0; j < 2**i; j++) {
      node[i + 1][j + 2**i] <== node[i][j] * bit[i];
      node[i + 1][j] <== node[i][j] - node[i + 1][j + 2**i];
    }
    for (var j = 2**(i + 1); j < 2**n; j++) node[i + 1][j] <== 0;
  }
  for (var j = 1; j < 2**n; j++) node[0][j] <== 0;
  out <== node[n];
}

// out = T[in] for 0 ≤ in < 2^ybits, where T ends after 2^x entries.
template Exp(ybits, x, T) {
  signal input in;
  signal output out;
  var lo = x \\ 2;
  var hi = x - lo;
  component split = Bits(ybits);
  split.in <== in;
  component low = OneHot(lo);
  for (var i = 0; i < lo; i++) low.bit[i] <== split.out[i];
  component high = OneHot(hi);
  for (var i = 0; i < hi; i++) high.bit[i] <== split.out[lo + i];
  signal part[2**hi];
  var sum = 0;
  for (var h = 0; h < 2**hi; h++) {
    var value = 0;
    for (var l = 0; l < 2**lo; l++) value += low.out[l] * T[h * 2**lo + l];
    part[h] <== high.out[h] * value;
    sum += part[h];
  }
  signal within[ybits - x + 1];
  within[0] <== 1;
  for (var i = x; i < ybits; i++) within[i - x + 1] <== within[i - x] * (1 - split.out[i]);
  out <== within[ybits - x] * sum;
}

// G = p − 2^g·hot of one row (libs/step/SPEC.md §5).
template SoftmaxRow(C, E, k, g, ybits, x, T) {
  signal input Y[C];
  signal input hot[C];
  signal output G[C];
  var top = Y[0];
  for (var c = 1; c < C; c++) top = Y[c] > top ? Y[c] : top;
  signal isTop[C];
  signal picked[C];
  var found = 0;
  var count = 0;
  var mu = 0;
  for (var c = 0; c < C; c++) {
    isTop[c] <-- (found == 0 && Y[c] == top) ? 1 : 0;
    found = Y[c] == top ? 1 : found;
    isTop[c] * (isTop[c] - 1) === 0;
    count += isTop[c];
    picked[c] <== isTop[c] * Y[c];
    mu += picked[c];
  }
  count === 1;
  component eps[C];
  var S = 0;
  for (var c = 0; c < C; c++) {
    eps[c] = Exp(ybits, x, T);
    eps[c].in <== mu - Y[c];
    S += eps[c].out;
  }
  signal total <== S;
  signal iota <-- 2**k \\ total;
  signal whole <== iota * total;
  component iotaRange = Bits(k - E + 1);
  iotaRange.in <== iota;
  component rest = Bits(ybits);
  rest.in <== 2**k - whole;
  component below = Bits(ybits);
  below.in <== total - 1 - (2**k - whole);
  var s = k - g;
  signal scaled[C];
  component round[C];
  for (var c = 0; c < C; c++) {
    scaled[c] <== eps[c].out * iota;
    round[c] = Bits(k + 1);
    round[c].in <== scaled[c] + (s > 0 ? 2**(s - 1) : 0);
    var p = 0;
    for (var i = s; i <= k; i++) p += round[c].out[i] * 2**(i - s);
    G[c] <== p - hot[c] * 2**g;
  }
}

`;

export const softmaxCe: CircuitLoss<Extract<Loss, { kind: 'softmax-ce' }>> = {
  templates,
  circuit({ E, k }, { ybits }, { outputs: C, g, aOut }) {
    const table = expTable(E, aOut);
    const used = table.indexOf(0);
    const x = Math.ceil(Math.log2(used === -1 ? table.length : used));
    const values = table.subarray(0, 2 ** x);
    const [low, high] = [Math.floor(x / 2), x - Math.floor(x / 2)];
    const lookup = 2 ** low - low + 2 ** (high + 1) - high + 2 * ybits - x;
    return {
      lines: [`  var T[${values.length}] = [${values.join(', ')}];`],
      row: `SoftmaxRow(${C}, ${E}, ${k}, ${g}, ${ybits}, ${x}, T)`,
      constraints: C * (lookup + k + 4) + k - E + 2 + 2 * ybits,
    };
  },
};
