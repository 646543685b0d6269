/** A manifest in the words of a model card. */
import { isNet, parseJobManifestText, type JobManifest } from '#libs/step';
import { CodedError, utf8 } from '#attestation/base';

interface Head {
  readonly family: string;
  readonly layers: string;
  readonly loss: string;
  readonly input: string;
  readonly output: string;
  readonly optimizer: string;
  readonly precision: string;
}

const unknown = 'in a manifest that this release does not read';

/** @param text canonical JSON of a manifest */
export function headOf(text: string): Head {
  const manifest = manifestOf(text);
  if (manifest === null) {
    return {
      ...{ family: unknown, layers: unknown, loss: unknown, input: unknown },
      ...{ output: unknown, optimizer: unknown, precision: unknown },
    };
  }
  if (!isNet(manifest)) {
    const { dims, loss, optimizer } = manifest;
    return {
      family: 'multilayer perceptron',
      layers: dims.join('-'),
      loss: wordOf(loss),
      input: `uint8 [${dims[0]}]`,
      output: `logits [${dims.at(-1)}]`,
      optimizer: wordOf(optimizer),
      precision: 'exact fixed-point integers, fxt/1',
    };
  }
  const ops = manifest.layers.map(({ op }) => String(op));
  const { input, loss, optimizer, labelShape } = manifest;
  return {
    family: familyOf(ops),
    layers: ops.join(', '),
    loss: wordOf(loss),
    input: `${'tokens' in input ? 'tokens' : input.dtype} [${input.shape.join(', ')}]`,
    output: labelShape.length === 0 ? 'one label' : `labels [${labelShape.join(', ')}]`,
    optimizer: wordOf(optimizer),
    precision: 'exact fixed-point integers, fxt/2',
  };
}

export function learningOf(text: string): 'supervised' | 'self-supervised' {
  const manifest = manifestOf(text);
  return manifest !== null && isNet(manifest) && 'tokens' in manifest.input ? 'self-supervised' : 'supervised';
}

function manifestOf(text: string): JobManifest | null {
  try {
    return parseJobManifestText(utf8(text));
  } catch (error) {
    if (error instanceof CodedError) return null;
    throw error;
  }
}

function familyOf(ops: readonly string[]): string {
  if (ops.some((op) => op === 'attention')) return 'transformer';
  if (ops.some((op) => op.startsWith('conv'))) return 'convolutional network';
  return 'feed-forward network';
}

const wordOf = (value: unknown): string =>
  typeof value === 'object' && value !== null && 'kind' in value ? String(value.kind) : JSON.stringify(value);
