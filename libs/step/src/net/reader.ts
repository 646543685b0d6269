/** Reads members of a JSON object strictly: each of its type and in its range, or refused by name (libs/step/SPEC.md §21). */
import { refuse } from '../errors.js';
import { integer, onlyMembers, record } from '../members.js';

const rule = 'libs/step/SPEC.md §21';
const listMax = 4096;

export class JsonReader {
  readonly #o: Record<string, unknown>;

  /**
   * @param name  of the object in refusals
   * @param known members that may be there
   */
  constructor(
    json: unknown,
    readonly name: string,
    known: readonly string[],
  ) {
    this.#o = record(json, name);
    onlyMembers(this.#o, new Set(known), name);
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#o, name) && this.#o[name] !== undefined;
  }

  /** The member as it came. */
  json(name: string): unknown {
    if (this.has(name)) return this.#o[name];
    return refuse('MANIFEST_MISSING_FIELD', `${name} in ${this.name}`, 'nothing', rule);
  }

  integer(name: string, low: number, high: number, otherwise?: number): number {
    if (!this.has(name) && otherwise !== undefined) return otherwise;
    return integer(this.json(name), `${this.name}.${name}`, low, high);
  }

  optionalInteger(name: string, low: number, high: number): number | undefined {
    return this.has(name) ? this.integer(name, low, high) : undefined;
  }

  integers(name: string, count: number, low: number, high: number, otherwise?: readonly number[]): readonly number[] {
    if (!this.has(name) && otherwise !== undefined) return otherwise;
    const list = this.list(name);
    if (list.length !== count) refuse('MANIFEST_LENGTH', `${count} entries in ${this.name}.${name}`, list.length, rule);
    return list.map((entry) => integer(entry, `${this.name}.${name}`, low, high));
  }

  list(name: string): readonly unknown[] {
    const value = this.json(name);
    if (Array.isArray(value) && value.length <= listMax) return value;
    return refuse('MANIFEST_TYPE', `${this.name}.${name} as a list of at most ${listMax}`, value, rule);
  }

  /** A list of pairs of integers. */
  pairs(name: string, most: number, low: number, high: number): readonly (readonly [number, number])[] {
    const list = this.list(name);
    if (list.length < 1 || list.length > most) {
      refuse('MANIFEST_SCHEDULE', `1 to ${most} pairs in ${this.name}.${name}`, list.length, rule);
    }
    return list.map((entry) => {
      const pair: readonly unknown[] = Array.isArray(entry) ? entry : [];
      if (pair.length !== 2) refuse('MANIFEST_SCHEDULE', `pairs of integers in ${this.name}.${name}`, entry, rule);
      return [integer(pair[0], `${this.name}.${name}`, low, high), integer(pair[1], `${this.name}.${name}`, low, high)];
    });
  }

  boolean(name: string, otherwise?: boolean): boolean {
    if (!this.has(name) && otherwise !== undefined) return otherwise;
    const value = this.json(name);
    return typeof value === 'boolean'
      ? value
      : refuse('MANIFEST_TYPE', `${this.name}.${name} true or false`, value, rule);
  }

  /** One of some words. */
  word<T extends string>(name: string, words: readonly T[], otherwise?: T): T {
    if (!this.has(name) && otherwise !== undefined) return otherwise;
    const value = this.json(name);
    const found = words.find((one) => one === value);
    return found ?? refuse('MANIFEST_RANGE', `${this.name}.${name} as ${words.join(' or ')}`, value, rule);
  }
}
