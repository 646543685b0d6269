/**
 * Circom templates that every circuit is made of. Signals that are chosen freely by the witness are pinned by constraints
 * in the same template; `<--` appears only next to them.
 */
export const gadgets = `
// in = Σ 2^i·out[i], every out[i] a bit: 0 ≤ in < 2^n.
template Bits(n) {
  signal input in;
  signal output out[n];
  var sum = 0;
  for (var i = 0; i < n; i++) {
    out[i] <-- (in >> i) & 1;
    out[i] * (out[i] - 1) === 0;
    sum += out[i] * 2**i;
  }
  sum === in;
}

// −2^(n−1) ≤ in < 2^(n−1).
template Signed(n) {
  signal input in;
  component bits = Bits(n);
  bits.in <== in + 2**(n - 1);
}

// out = RS(in, s) within a signed range; bit: the bits of out + 2^(bits−1).
template Round(s, bits) {
  signal input in;
  signal output out;
  signal output bit[bits];
  var low = s > 0 ? s : 0;
  component split = Bits(low + bits);
  if (s > 0) {
    split.in <== in + 2**(s - 1) + 2**(s + bits - 1);
  } else {
    split.in <== in * 2**(0 - s) + 2**(bits - 1);
  }
  var sum = 0;
  for (var i = 0; i < bits; i++) {
    bit[i] <== split.out[low + i];
    sum += bit[i] * 2**i;
  }
  out <== sum - 2**(bits - 1);
}

// Y = RS(A·W + 2^(2a)·b, s) within ybits.
template Dense(B, n, m, s, a, ybits) {
  signal input A[B][n];
  signal input W[n][m];
  signal input b[m];
  signal output Y[B][m];
  signal output bit[B][m][ybits];
  signal product[B][m][n];
  component round[B][m];
  for (var r = 0; r < B; r++) {
    for (var o = 0; o < m; o++) {
      var sum = b[o] * 2**(2 * a);
      for (var i = 0; i < n; i++) {
        product[r][o][i] <== A[r][i] * W[i][o];
        sum += product[r][o][i];
      }
      round[r][o] = Round(s, ybits);
      round[r][o].in <== sum;
      Y[r][o] <== round[r][o].out;
      bit[r][o] <== round[r][o].bit;
    }
  }
}

// A = CLAMP(Y, 0, 2^abits − 1), M = [0 < Y < 2^abits − 1], Y given by the bits of Y + 2^(ybits−1).
template Activation(B, n, ybits, abits) {
  signal input bit[B][n][ybits];
  signal output A[B][n];
  signal output M[B][n];
  var high = ybits - 1 - abits;
  var top = 2**abits - 1;
  signal fits[B][n][high + 1];
  signal clipped[B][n];
  signal inside[B][n];
  signal inverse[B][n];
  for (var r = 0; r < B; r++) {
    for (var o = 0; o < n; o++) {
      var low = 0;
      for (var i = 0; i < abits; i++) low += bit[r][o][i] * 2**i;
      fits[r][o][0] <== 1;
      for (var i = 0; i < high; i++) fits[r][o][i + 1] <== fits[r][o][i] * (1 - bit[r][o][abits + i]);
      clipped[r][o] <== fits[r][o][high] * (low - top) + top;
      A[r][o] <== bit[r][o][ybits - 1] * clipped[r][o];
      inside[r][o] <== A[r][o] * (top - A[r][o]);
      inverse[r][o] <-- inside[r][o] == 0 ? 0 : 1 / inside[r][o];
      M[r][o] <== inside[r][o] * inverse[r][o];
      inside[r][o] * (1 - M[r][o]) === 0;
      inverse[r][o] * (1 - M[r][o]) === 0;
    }
  }
}

// G = RS(Y, s) − 2^g·hot of one row, within gbits.
template SquaredErrorRow(C, s, g, ybits, gbits) {
  signal input Y[C];
  signal input hot[C];
  signal output G[C];
  component round[C];
  component range[C];
  for (var c = 0; c < C; c++) {
    if (s > 0) {
      round[c] = Round(s, ybits);
      round[c].in <== Y[c];
      G[c] <== round[c].out - hot[c] * 2**g;
    } else {
      G[c] <== Y[c] * 2**(0 - s) - hot[c] * 2**g;
    }
    range[c] = Signed(gbits);
    range[c].in <== G[c];
  }
}

// out[j] = [the number with these bits is j].
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

// G = RS(M ⊙ (H = E·Wᵀ), s) within gbits.
template Backward(B, n, m, s, gbits) {
  signal input E[B][m];
  signal input W[n][m];
  signal input M[B][n];
  signal output G[B][n];
  signal product[B][n][m];
  signal masked[B][n];
  component round[B][n];
  for (var r = 0; r < B; r++) {
    for (var i = 0; i < n; i++) {
      var sum = 0;
      for (var o = 0; o < m; o++) {
        product[r][i][o] <== E[r][o] * W[i][o];
        sum += product[r][i][o];
      }
      masked[r][i] <== M[r][i] * sum;
      round[r][i] = Round(s, gbits);
      round[r][i].in <== masked[r][i];
      G[r][i] <== round[r][i].out;
    }
  }
}

// V = W − size·AᵀG, c = b − size·Σ_r G.
template Update(B, n, m) {
  signal input A[B][n];
  signal input G[B][m];
  signal input W[n][m];
  signal input b[m];
  signal input size;
  signal output V[n][m];
  signal output c[m];
  signal scaled[B][m];
  signal product[n][m][B];
  for (var o = 0; o < m; o++) {
    var sum = 0;
    for (var r = 0; r < B; r++) {
      scaled[r][o] <== size * G[r][o];
      sum += scaled[r][o];
    }
    c[o] <== b[o] - sum;
    for (var i = 0; i < n; i++) {
      sum = 0;
      for (var r = 0; r < B; r++) {
        product[i][o][r] <== A[r][i] * scaled[r][o];
        sum += product[i][o][r];
      }
      V[i][o] <== W[i][o] - sum;
    }
  }
}

// Poseidon over tag, blind and the elements, four inputs at a time, the hash so far first.
template Commit(tag, count) {
  signal input blind;
  signal input element[count];
  signal output out;
  var calls = 1 + (count > 2 ? (count - 2 + 2) \\ 3 : 0);
  component hash[calls];
  for (var k = 0; k < calls; k++) {
    hash[k] = Poseidon(4);
    for (var j = 0; j < 4; j++) {
      var index = k == 0 ? j - 2 : 3 * k - 1 + j - 1;
      if (k == 0 && j == 0) {
        hash[k].inputs[j] <== tag;
      } else if (k == 0 && j == 1) {
        hash[k].inputs[j] <== blind;
      } else if (k > 0 && j == 0) {
        hash[k].inputs[j] <== hash[k - 1].out;
      } else if (index < count) {
        hash[k].inputs[j] <== element[index];
      } else {
        hash[k].inputs[j] <== 0;
      }
    }
  }
  out <== hash[calls - 1].out;
}
`;
