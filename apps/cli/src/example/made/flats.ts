/** Flats and their rents: numbers, categories, some cells empty; the rent follows from the rest but for some noise. */
import { randomOf } from './random.js';
import { writeTables } from './table.js';

const districts = { harbour: 13, hill: 17, mill: 9.5, station: 11, west: 8 };
const heatings = { district: 0, gas: 40, oil: 95 };
const names = ['area', 'rooms', 'floor', 'lift', 'built', 'district', 'heating', 'rent'];

/** Standard deviation of what nobody can know of a rent. */
const noise = 25;

export function makeFlats(folder: string, rows: number): void {
  const random = randomOf('flats');
  writeTables(folder, names, rows, () => {
    const area = random.between(22, 140);
    const rooms = Math.max(1, Math.round(area / 28 + random.normal() / 2));
    const [floor, built] = [random.below(9), 1900 + random.below(121)];
    const lift = random.below(9) < floor ? 'yes' : 'no';
    const district = random.of(Object.keys(districts) as (keyof typeof districts)[]);
    const heating = random.of(Object.keys(heatings) as (keyof typeof heatings)[]);
    const stairs = lift === 'no' ? 18 * floor : -12 * floor;
    const age = ((built - 1960) / 30) ** 2;
    const rent = 120 + area * districts[district] - stairs - heatings[heating] + 22 * age + noise * random.normal();
    const isUnknown = random.below(25) === 0;
    return [area.toFixed(1), rooms, floor, lift, isUnknown ? '' : built, district, heating, rent.toFixed(0)];
  });
}
