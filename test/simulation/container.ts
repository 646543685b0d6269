/**
 * Makes the control plane's services from their constructors, as Nest does, but starts nothing: no timer, no server.
 * What a service asks for and is not given is made; a token without a value is an error.
 */
import 'reflect-metadata';

type Class<T = unknown> = new (...parts: never[]) => T;
type Token = Class | symbol;

export class Container {
  readonly #made = new Map<unknown, unknown>();

  constructor(given: readonly (readonly [token: unknown, value: unknown])[]) {
    for (const [token, value] of given) this.#made.set(token, value);
  }

  get<T>(service: Class<T>): T {
    return this.of(service) as T;
  }

  private of(token: Token): unknown {
    if (this.#made.has(token)) return this.#made.get(token);
    if (typeof token === 'symbol') throw new Error(`no value for ${String(token)}`);
    const types = (Reflect.getMetadata('design:paramtypes', token) ?? []) as Token[];
    const named = (Reflect.getMetadata('self:paramtypes', token) ?? []) as { index: number; param: Token }[];
    const parts = types.map((type, index) => this.of(named.find((entry) => entry.index === index)?.param ?? type));
    const made = new token(...(parts as never[]));
    this.#made.set(token, made);
    return made;
  }
}
