/**
 * The circuit of a manifest's segments as circom text (libs/zk/src/groth16/SPEC.md §3). The text's digest names the
 * circuit.
 */
import { taggedDigest, utf8 } from '#attestation/base';
import { classCount, featureCount, type LayerScale } from '#libs/step';
import { gadgets } from './gadgets.js';
import { activation, linear } from './ops/index.js';
import { bytesPerElement, type CircuitShape } from './shape.js';

/** First inputs of the commitments' hash chains: at most 31 bytes of ASCII as a number. */
export const commitmentTags = { weights: tag('fxt-groth16/1 weights'), data: tag('fxt-groth16/1 data') };

/** Circom sources that the text includes, of the package circomlib 2.0.5. */
export const includedSources = ['poseidon.circom', 'poseidon_constants.circom'] as const;

/** Public signals in order: what a verifier hands to the argument. */
export const publicSignals = ['before', 'after', 'data', 'statement[0]', 'statement[1]', 'sizes'] as const;

export function circuitText(shape: CircuitShape): string {
  const { dims, batch, superblock } = shape.manifest;
  return [
    `// fxt-groth16/1: ${superblock} steps of ${dims.join('-')}, batch ${batch}, ${shape.manifest.loss.kind}.`,
    'pragma circom 2.1.6;',
    'include "poseidon.circom"; // circomlib 2.0.5',
    gadgets,
    lossTemplate(shape),
    stepTemplate(shape),
    weightsTemplate(shape),
    dataTemplate(shape),
    segmentTemplate(shape),
    'component main {public [statement, sizes]} = Segment();',
    '',
  ].join('\n');
}

/** Names a circuit: 32 bytes. */
export function circuitDigest(shape: CircuitShape): Uint8Array {
  return taggedDigest('fxt-groth16/circuit/1', utf8(circuitText(shape)));
}

function tag(text: string): bigint {
  return utf8(text).reduce((number, byte) => (number << 8n) | BigInt(byte), 0n);
}

function inputsOfWeights(shape: CircuitShape, direction: 'input' | 'output', prefix = ''): string[] {
  return shape.tensors.map(({ name, dims }) => `  signal ${direction} ${prefix}${name}${brackets(dims)};`);
}

function brackets(dims: readonly number[]): string {
  return dims.map((size) => `[${size}]`).join('');
}

function stepTemplate(shape: CircuitShape): string {
  const { manifest, layers } = shape;
  const { batch: B } = manifest;
  const [n0, C] = [featureCount(manifest), classCount(manifest)];
  const input = ({ layer }: LayerScale): string => (layer === 1 ? 'x' : activation.outputOf(layer - 1));
  const error = ({ isLast, layer }: LayerScale): string => (isLast ? 'loss.G' : linear.errorOf(layer));
  const forward = layers.flatMap((scale) => [
    ...linear.forwardLines(manifest, scale, input(scale)),
    ...activation.lines(manifest, scale, linear.bitsOf(scale.layer)),
  ]);
  const backward = [...layers]
    .reverse()
    .flatMap((scale) => [
      ...linear.backwardLines(manifest, scale, error(scale), activation.maskOf(scale.layer - 1)),
      ...linear.updateLines(manifest, scale, input(scale), error(scale)),
    ]);
  return [
    'template Step() {',
    ...inputsOfWeights(shape, 'input'),
    `  signal input x[${B}][${n0}];`,
    `  signal input hot[${B}][${C}];`,
    '  signal input size;',
    ...inputsOfWeights(shape, 'output', 'next_'),
    ...forward,
    '  component loss = Loss();',
    `  loss.Y <== ${linear.outputOf(layers.length)};`,
    '  loss.hot <== hot;',
    ...backward,
    '}',
  ].join('\n');
}

function lossTemplate({ manifest, loss }: CircuitShape): string {
  const [B, C] = [manifest.batch, classCount(manifest)];
  return [
    'template Loss() {',
    `  signal input Y[${B}][${C}];`,
    `  signal input hot[${B}][${C}];`,
    `  signal output G[${B}][${C}];`,
    ...loss.lines,
    `  component row[${B}];`,
    `  for (var r = 0; r < ${B}; r++) {`,
    `    row[r] = ${loss.row};`,
    '    row[r].Y <== Y[r];',
    '    row[r].hot <== hot[r];',
    '    G[r] <== row[r].G;',
    '  }',
    '}',
  ].join('\n');
}

/** Range checks and commits to the weights at a border. */
function weightsTemplate(shape: CircuitShape): string {
  const { tensors, slotBits, slots, weightElements } = shape;
  const value = (name: string, dims: readonly number[]): string => `${name}${dims.length === 2 ? '[i][o]' : '[o]'}`;
  return [
    'template Weights() {',
    ...inputsOfWeights(shape, 'input'),
    '  signal input blind;',
    '  signal output root;',
    `  var packed[${weightElements}];`,
    `  for (var k = 0; k < ${weightElements}; k++) packed[k] = 0;`,
    '  var at = 0;',
    ...tensors.flatMap(({ name, dims, bits }) => [
      `  component range_${name}${brackets(dims)};`,
      ...(dims.length === 2 ? [`  for (var i = 0; i < ${dims[0]}; i++) {`] : []),
      `  for (var o = 0; o < ${dims.at(-1)}; o++) {`,
      `    range_${value(name, dims)} = Bits(${bits + 1});`,
      `    range_${value(name, dims)}.in <== ${value(name, dims)} + 2**${bits};`,
      `    packed[at \\ ${slots}] += (${value(name, dims)} + 2**${bits}) * 2**(${slotBits} * (at % ${slots}));`,
      '    at += 1;',
      ...(dims.length === 2 ? ['  }'] : []),
      '  }',
    ]),
    ...commitLines(commitmentTags.weights, weightElements),
    '}',
  ].join('\n');
}

/** Checks that records are bytes and labels classes, and commits to them. */
function dataTemplate({ manifest, dataElements }: CircuitShape): string {
  const { superblock: T, batch: B } = manifest;
  const [n0, C] = [featureCount(manifest), classCount(manifest)];
  return [
    'template Data() {',
    `  signal input x[${T}][${B}][${n0}];`,
    `  signal input hot[${T}][${B}][${C}];`,
    '  signal input blind;',
    '  signal output root;',
    `  var packed[${dataElements}];`,
    `  for (var k = 0; k < ${dataElements}; k++) packed[k] = 0;`,
    '  var at = 0;',
    `  component byte[${T}][${B}][${n0}];`,
    `  for (var t = 0; t < ${T}; t++) {`,
    `  for (var r = 0; r < ${B}; r++) {`,
    `    for (var i = 0; i < ${n0}; i++) {`,
    '      byte[t][r][i] = Bits(8);',
    '      byte[t][r][i].in <== x[t][r][i];',
    `      packed[at \\ ${bytesPerElement}] += x[t][r][i] * 256**(at % ${bytesPerElement});`,
    '      at += 1;',
    '    }',
    '    var label = 0;',
    '    var count = 0;',
    `    for (var c = 0; c < ${C}; c++) {`,
    '      hot[t][r][c] * (hot[t][r][c] - 1) === 0;',
    '      count += hot[t][r][c];',
    '      label += c * hot[t][r][c];',
    '    }',
    '    count === 1;',
    `    packed[at \\ ${bytesPerElement}] += label * 256**(at % ${bytesPerElement});`,
    '    at += 1;',
    '  }',
    '  }',
    ...commitLines(commitmentTags.data, dataElements),
    '}',
  ].join('\n');
}

function commitLines(first: bigint, count: number): string[] {
  return [
    `  component commit = Commit(${first}, ${count});`,
    '  commit.blind <== blind;',
    `  for (var k = 0; k < ${count}; k++) commit.element[k] <== packed[k];`,
    '  root <== commit.out;',
  ];
}

function segmentTemplate(shape: CircuitShape): string {
  const { superblock: T, batch: B } = shape.manifest;
  const names = shape.tensors.map(({ name }) => name);
  return [
    'template Segment() {',
    '  signal input statement[2];',
    '  signal input sizes;',
    ...inputsOfWeights(shape, 'input'),
    `  signal input x[${T}][${B}][${featureCount(shape.manifest)}];`,
    `  signal input hot[${T}][${B}][${classCount(shape.manifest)}];`,
    '  signal input blind[3];',
    '  signal output before;',
    '  signal output after;',
    '  signal output data;',
    '  // The statement is bound by being public; the squares keep a constraint on it.',
    '  signal square[2];',
    '  for (var i = 0; i < 2; i++) square[i] <== statement[i] * statement[i];',
    `  component size = Bits(${8 * T});`,
    '  size.in <== sizes;',
    '  component records = Data();',
    '  records.x <== x;',
    '  records.hot <== hot;',
    '  records.blind <== blind[2];',
    '  data <== records.root;',
    ...['start', 'end'].map((border) => `  component ${border} = Weights();`),
    ...names.map((name) => `  start.${name} <== ${name};`),
    '  start.blind <== blind[0];',
    '  before <== start.root;',
    `  component step[${T}];`,
    `  for (var t = 0; t < ${T}; t++) {`,
    '    step[t] = Step();',
    ...names.map(
      (name) =>
        `    if (t == 0) { step[t].${name} <== ${name}; } else { step[t].${name} <== step[t - 1].next_${name}; }`,
    ),
    '    step[t].x <== x[t];',
    '    step[t].hot <== hot[t];',
    '    var m = 0;',
    '    for (var i = 0; i < 8; i++) m += size.out[8 * t + i] * 2**i;',
    '    step[t].size <== m;',
    '  }',
    ...names.map((name) => `  end.${name} <== step[${T - 1}].next_${name};`),
    '  end.blind <== blind[1];',
    '  after <== end.root;',
    '}',
  ].join('\n');
}
