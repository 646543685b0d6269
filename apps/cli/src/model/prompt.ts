/** `veritrain predict --prompt`: text from a language model, a token after the other, each from exact outputs. */
import { ConfigurationError, keccak, utf8 } from '#attestation/base';
import { characterText, readTokenizer, type TextTokenizer } from '#libs/data';
import { NetForward } from '#libs/onnx';
import { netOf, wordStream } from '#libs/step';
import { usage } from './data.js';
import { readModel, tokenizerName } from './folder.js';

export interface PromptOptions {
  readonly model: string;
  readonly prompt: string;
  /** Tokens to add. */
  readonly length?: string;
  /** 0: always the likeliest token. */
  readonly temperature?: string;
  /** Any text; the same one gives the same tokens. */
  readonly seed?: string;
}

interface Continued {
  readonly prompt: string;
  /** What the model adds to it. */
  readonly text: string;
  readonly tokens: number;
  /** Characters of the prompt that the tokenizer does not know; the model reads one token in place of each. */
  readonly unknown: readonly string[];
  readonly temperature: number;
  readonly seed: string;
}

const lengthMax = 10_000;
const promptCharactersMax = 1 << 20;

/** @throws ConfigurationError USAGE, PROMPT_MODEL, PROMPT_EMPTY, FILE_*; Rejection MANIFEST_*, WEIGHTS_*; DataError DATA_TOKENIZER, DATA_CHARACTER */
export async function continueText(options: PromptOptions): Promise<Continued> {
  const { prompt, seed = '0' } = options;
  const length = numberOf('--length', options.length ?? '200', lengthMax, /^[1-9]\d*$/);
  const temperature = numberOf('--temperature', options.temperature ?? '0.8', 100, /^\d+(\.\d+)?$/);
  if (prompt.length > promptCharactersMax) throw usage(`--prompt of at most ${promptCharactersMax} characters`, 'more');
  const { manifest, header, parameters, tokenizer } = readModel(options.model);
  if (header.label.kind !== 'tokens' || tokenizer === undefined) {
    const [expected, got] = ['a language model with its tokenizer', `a model that answers with ${header.label.kind}`];
    const action = 'use --data and --out for models of other tasks';
    throw new ConfigurationError('PROMPT_MODEL', { expected, got, rule: 'predict --prompt', action });
  }
  const coder = readTokenizer(tokenizer, tokenizerName);
  const unknown = coder.unknown(prompt);
  const tokens = promptTokens(coder, prompt, unknown);
  const before = tokens.length;
  const { a, shape } = netOf(manifest).output;
  const [window, vocab] = [manifest.input.shape[0]!, shape.at(-1)!];
  const word = wordStream('veritrain/predict/prompt', keccak(utf8(seed)));
  const forward = await NetForward.open(manifest);
  try {
    while (tokens.length < before + length) {
      // Places behind the last token are not looked at, for attention is causal.
      const seen = tokens.slice(-window);
      const features = Int32Array.from({ length: window }, (_, place) => seen[place] ?? coder.end);
      for await (const { output } of forward.outputs(parameters, { count: 1, features })) {
        const logits = output.subarray((seen.length - 1) * vocab, seen.length * vocab);
        const share = Number(word(tokens.length - before) >> 11n) / 2 ** 53;
        tokens.push(chosen(logits, 2 ** -a, temperature, share));
      }
    }
  } finally {
    await forward.close();
  }
  return { prompt, text: coder.decode(tokens.slice(before)), tokens: length, unknown, temperature, seed };
}

/** @throws ConfigurationError PROMPT_EMPTY where no character is known; DataError DATA_CHARACTER */
function promptTokens(coder: TextTokenizer, prompt: string, unknown: readonly string[]): number[] {
  const encode = (text: string) => coder.encode(text, () => ({ file: 'the prompt' }));
  const isKnown = (character: string) => !unknown.includes(character) && encode(character).length > 0;
  if ([...new Set(prompt)].some(isKnown)) return [...encode(prompt)];
  const listed = unknown.slice(0, 10).map(characterText).join(', ');
  throw new ConfigurationError('PROMPT_EMPTY', {
    expected: 'text to go on from',
    got: unknown.length === 0 ? 'none' : `characters that the model's tokenizer does not know: ${listed}`,
    rule: '--prompt',
    action: 'write the prompt in characters of the text that the model learned',
  });
}

/**
 * Of the softmax of `logits·unit/temperature` the token in which `share` falls; at temperature 0 the likeliest.
 *
 * @param share 0 to 1, without 1
 */
export function chosen(logits: Float64Array, unit: number, temperature: number, share: number): number {
  const largest = logits.reduce((most, value) => Math.max(most, value), -Infinity);
  if (temperature === 0) return logits.indexOf(largest);
  const weights = logits.map((value) => Math.exp(((value - largest) * unit) / temperature));
  let left = share * weights.reduce((sum, weight) => sum + weight, 0);
  const found = weights.findIndex((weight) => (left -= weight) < 0);
  return found < 0 ? weights.length - 1 : found;
}

function numberOf(name: string, text: string, most: number, form: RegExp): number {
  if (form.test(text) && text.length <= 20 && Number(text) <= most) return Number(text);
  throw usage(`${name} as a number up to ${most}`, text.slice(0, 40));
}
