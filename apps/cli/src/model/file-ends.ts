/** What an ONNX file takes and answers with: as an option says it, else as the file tells, else as the data set scales it. */
import { integerInputs, realInputs, takenBy, type OwnUnits } from '#libs/models';
import type { DataHeader } from '#libs/step';

export interface EndOptions {
  readonly inputs?: 'scaled' | 'raw';
  /** Without it as the inputs. */
  readonly outputs?: 'scaled' | 'raw';
}

interface Ends {
  readonly inputs: 'scaled' | 'raw' | 'integers';
  readonly outputs: 'scaled' | 'raw';
  /** Why, where no option says it. */
  readonly told: string | null;
}

const ownTold = 'The file says that veritrain exported it';
const bytesTold = 'The file takes whole numbers from 0 to 255 (uint8)';

const inputWords: Readonly<Record<Ends['inputs'], string>> = {
  scaled:
    'The file is taken to expect features as the data set scales them: pixels from 0 to 1, columns of numbers centered and scaled. Where it expects your own numbers, say --inputs raw.',
  raw: 'The file is taken to expect your own numbers; what the data set scales is undone in its first layer.',
  integers:
    'The file is taken to expect the integers of the data set, as model export --integers writes it. Where it expects your own numbers, say --inputs raw.',
};

const outputWords: Readonly<Record<Ends['outputs'], string>> = {
  scaled:
    "The file is taken to answer with the label as the data set scales it: centered and scaled. Where it answers in the label's own unit, say --outputs raw.",
  raw: "The file is taken to answer in the label's own unit; its last layer takes the label's center and scale. Where it answers with the label centered and scaled, say --outputs scaled.",
};

/** @throws Rejection as `importOnnx` does of a file that is none */
export function endsOf(bytes: Uint8Array, { inputs, outputs = inputs }: EndOptions): Ends {
  if (inputs !== undefined) return { inputs, outputs: outputs ?? inputs, told: null };
  const taken = takenBy(bytes);
  if (taken === null) return { inputs: 'scaled', outputs: outputs ?? 'scaled', told: null };
  return {
    inputs: taken.what === 'integers' ? 'integers' : 'raw',
    outputs: outputs ?? taken.answers,
    told: taken.isOwn ? ownTold : bytesTold,
  };
}

/** Of features. @returns undefined where they are taken as the data set scales them, and for tokens */
export function unitsTaken({ inputs }: Ends, header: DataHeader): OwnUnits | undefined {
  if (inputs === 'scaled') return undefined;
  return inputs === 'raw' ? realInputs(header) : integerInputs(header);
}

/** Sentences, of the ends that are numbers. */
export function endWords(
  { inputs, outputs, told }: Ends,
  { takesNumbers, answersNumbers }: { readonly takesNumbers: boolean; readonly answersNumbers: boolean },
): readonly string[] {
  const why = told === null ? [] : [`${told}; without --inputs that decides.`];
  const ends = [...(takesNumbers ? [inputWords[inputs]] : []), ...(answersNumbers ? [outputWords[outputs]] : [])];
  return ends.length === 0 ? [] : [...why, ...ends];
}
