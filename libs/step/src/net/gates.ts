/**
 * Ranges that numbers of a graph are taken to (libs/step/SPEC.md §26). Of several one after the other, the narrowest is written;
 * and what a relu does may be done to the maxima behind it, of which there are fewer.
 */

/** What numbers were taken from, and to. */
interface Clamped {
  readonly x: string;
  readonly low: number;
  readonly high: number;
}

/** What of an emitter the ranges are written with. */
interface Writer {
  node(op: string, inputs: readonly string[]): string;
  scalar(value: number): string;
  later(make: () => string): string;
}

export class Gates {
  /** Whether nobody looks at what lies between a relu and the maxima behind it. */
  mayMove = true;
  readonly #clamped = new Map<string, Clamped>();
  readonly #gates = new Map<string, Clamped>();
  readonly #masked = new Set<string>();

  constructor(private readonly e: Writer) {}

  /** `CLAMP(x, low, high)`. */
  clamp(x: string, low: number, high: number): string {
    const before = this.#clamped.get(x);
    const from = before !== undefined && before.low <= low && before.high >= high ? before.x : x;
    const name = this.e.later(() => this.e.node('Clip', [from, this.e.scalar(low), this.e.scalar(high)]));
    this.#clamped.set(name, { x: from, low, high });
    return name;
  }

  /** `CLAMP(x, 0, high)`, of an op that errors pass strictly in between. */
  gate(x: string, high: number): string {
    const name = this.clamp(x, 0, high);
    if (this.mayMove) this.#gates.set(name, this.#clamped.get(name)!);
    return name;
  }

  /** What `gate` made the tensor of, where that may be read in its place. */
  of(name: string): Clamped | undefined {
    return this.#gates.get(name);
  }

  /** Notes that an error is 0 already where the gate before it lets none pass. */
  mask(error: string): string {
    this.#masked.add(error);
    return error;
  }

  isMasked(error: string): boolean {
    return this.#masked.has(error);
  }
}
