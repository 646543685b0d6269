/** Tensors of a file as parameters of a net: `{"map": {"fc1.weight": "n0.W^T"}}`. */
import { refuse } from './errors.js';
import type { RealParameter } from './onnx/import.js';
import type { NamedTensor } from './safetensors.js';

/** What a net needs of a parameter: `parameterShapes` of libs/step has it. */
interface WantedParameter {
  readonly name: string;
  readonly layer: string;
  readonly role: 'W' | 'b';
  readonly dims: readonly number[];
}

const targetForm = /^([A-Za-z0-9._]+\.[Wb])(\^T)?$/;

/**
 * `^T` turns a matrix [out, in] as PyTorch has it into [in, out], and a kernel [out, in, k0, k1] into rows
 * [k0·k1·in, out]. Without a map, tensors have the names of the parameters.
 *
 * @param map JSON, or undefined
 * @throws Rejection SAFETENSORS_MAP, SAFETENSORS_SHAPE, SAFETENSORS_MISSING
 */
export function mappedParameters(
  tensors: readonly NamedTensor[],
  wanted: readonly WantedParameter[],
  map: unknown,
): readonly RealParameter[] {
  const targets = map === undefined ? ownNames(wanted) : readMap(map);
  const found = new Map<string, Float64Array>();
  for (const { name, dims, values } of tensors) {
    const target = targets.get(name);
    if (target === undefined) continue;
    const parameter = wanted.find((one) => one.name === target.name);
    if (parameter === undefined) refuse('SAFETENSORS_MAP', 'names of parameters of the net', target.name);
    if (values instanceof BigInt64Array) refuse('SAFETENSORS_SHAPE', `real numbers in "${name}"`, 'integers');
    found.set(target.name, fitted(name, dims, values, parameter, target.isTurned));
  }
  const missing = wanted.filter(({ name }) => !found.has(name)).map(({ name }) => name);
  if (missing.length > 0) {
    const there = tensors.map(({ name }) => name).join(', ');
    refuse('SAFETENSORS_MISSING', `tensors for ${missing.join(', ')}`, there, 'name them in the map');
  }
  return wanted.map(({ name, layer, role, dims }) => ({ name, layer, kind: role, dims, values: found.get(name)! }));
}

interface Target {
  readonly name: string;
  readonly isTurned: boolean;
}

const ownNames = (wanted: readonly WantedParameter[]): ReadonlyMap<string, Target> =>
  new Map(wanted.map(({ name }) => [name, { name, isTurned: false }]));

function readMap(json: unknown): ReadonlyMap<string, Target> {
  const { map, ...others } = (typeof json === 'object' && json !== null ? json : {}) as Readonly<
    Record<string, unknown>
  >;
  if (typeof map !== 'object' || map === null || Object.keys(others).length > 0) {
    return refuse('SAFETENSORS_MAP', 'an object with the member map', typeof json);
  }
  const targets = new Map<string, Target>();
  const names = new Set<string>();
  for (const [from, to] of Object.entries(map)) {
    const [, name, turned] = (typeof to === 'string' && targetForm.exec(to)) || [];
    if (name === undefined) refuse('SAFETENSORS_MAP', `a parameter such as n0.W or n0.W^T for "${from}"`, String(to));
    if (names.has(name)) refuse('SAFETENSORS_MAP', 'each parameter once', name);
    names.add(name);
    targets.set(from, { name, isTurned: turned !== undefined });
  }
  return targets;
}

function fitted(
  name: string,
  dims: readonly number[],
  values: Float64Array,
  to: WantedParameter,
  isTurned: boolean,
): Float64Array {
  const own = isTurned ? turnedDims(dims) : dims;
  if (String(own) !== String(to.dims)) {
    refuse(
      'SAFETENSORS_SHAPE',
      `[${to.dims.join()}] for ${to.name}`,
      `"${name}" [${dims.join()}]${isTurned ? ' turned' : ''}`,
    );
  }
  if (!isTurned) return values;
  const [out, inner] = [dims[0]!, dims[1]!];
  const cells = values.length / out / inner || 0;
  return values.map((_, at) => {
    const [o, row] = [at % out, Math.floor(at / out)];
    return values[(o * inner + (row % inner)) * cells + Math.floor(row / inner)]!;
  });
}

function turnedDims(dims: readonly number[]): readonly number[] {
  if (dims.length !== 2 && dims.length !== 4) return [];
  return [dims.slice(1).reduce((product, size) => product * size, 1), dims[0]!];
}
