/**
 * Circom templates that every circuit is made of. Signals that are chosen freely by the witness are pinned by constraints
 * in the same template; `<--` appears only next to them.
 */
import { lossTemplates } from './losses/index.js';
import { backwardTemplates, forwardTemplates } from './ops/index.js';

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

${forwardTemplates}${lossTemplates}${backwardTemplates}// Poseidon over tag, blind and the elements, four inputs at a time, the hash so far first.
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
