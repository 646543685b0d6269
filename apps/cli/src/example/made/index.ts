/** Scripts that make the data of examples: the same bytes every time, on every machine. */
import { makeDigits } from './digits.js';
import { makeFaults } from './faults.js';
import { makeFlats } from './flats.js';
import { cutFashion, cutMnist } from './idx.js';
import { makeShapes } from './shapes.js';

/** @param folder gets the files; those to test on have a fifth as many rows */
type Maker = (folder: string, rows: number) => void;

export const makers = {
  digits: makeDigits,
  fashion: cutFashion,
  faults: makeFaults,
  flats: makeFlats,
  mnist: cutMnist,
  shapes: makeShapes,
} satisfies Readonly<Record<string, Maker>>;

export type MakerName = keyof typeof makers;
