/** Machines and their faults: a machine may have none, one or several at a time. */
import { randomOf } from './random.js';
import { writeTables } from './table.js';

const names = ['model', 'hours', 'temperature', 'vibration', 'pressure', 'current', 'hot', 'unbalanced', 'leaking'];
/** Temperature at which a model runs when it is well. */
const models = { a: 60, b: 68, c: 75 };

const yes = (isSo: boolean): string => (isSo ? 'yes' : 'no');

export function makeFaults(folder: string, rows: number): void {
  const random = randomOf('faults');
  writeTables(folder, names, rows, () => {
    const model = random.of(Object.keys(models) as (keyof typeof models)[]);
    const hours = random.between(0, 9000);
    const [isHot, isUnbalanced, isLeaking] = [
      random.below(4) === 0,
      random.below(9000) < hours / 2,
      random.below(5) === 0,
    ];
    const temperature = models[model] + (isHot ? 14 : 0) + 3 * random.normal();
    const vibration = 1.2 + hours / 9000 + (isUnbalanced ? 1.9 : 0) + 0.35 * random.normal();
    const pressure = 8 - (isLeaking ? 1.6 : 0) - (isHot ? 0.5 : 0) + 0.3 * random.normal();
    const current = 11 + (isUnbalanced ? 1.2 : 0) + (isLeaking ? 1 : 0) + 0.5 * random.normal();
    const numbers = [temperature, vibration, pressure, current].map((value) => value.toFixed(2));
    return [model, hours.toFixed(0), ...numbers, yes(isHot), yes(isUnbalanced), yes(isLeaking)];
  });
}
