/**
 * A connection of dispatch before anybody is known on it: it closes when no key was accepted in time, and at the first bytes
 * that announce more than a frame may have, before they are buffered.
 */
import type { Socket } from 'node:net';
import { JsonSocket, type JsonSocketOptions } from '@nestjs/microservices/helpers/json-socket.js';
import { limits } from '#libs/wire';

/** What the framing of Nest has read and not yet handed on. */
interface Framing {
  readonly buffer: string;
  readonly contentLength: number | null;
}

/** Connections on which nobody is known, over all of the process. */
let strangers = 0;
/** Characters that are buffered of their frames. */
let heldOfStrangers = 0;

export class GuardedSocket extends JsonSocket {
  #isKnown = false;
  #pending = 0;
  #held = 0;
  readonly #timer: NodeJS.Timeout;

  constructor(socket: Socket, options: JsonSocketOptions) {
    super(socket, options);
    strangers += 1;
    this.#timer = setInterval(() => this.#look(), 1000 * limits.unauthenticatedSecondsMax).unref();
    socket.once('close', () => this.#settle());
    // What asks nothing is never answered.
    socket.on('message', (message: { id?: unknown }) => (this.#pending += message.id === undefined ? 0 : 1));
    if (strangers > limits.unauthenticatedConnectionsMax) socket.destroy();
  }

  protected override handleData(data: Buffer | string): void {
    super.handleData(data);
    const { buffer, contentLength } = this as unknown as Framing;
    const isAnnounced = contentLength === null ? /^\d{0,8}$/.test(buffer) : contentLength <= limits.frameCharactersMax;
    const isHeld = this.#hold(buffer.length);
    if (isAnnounced && isHeld) return;
    this.netSocket.emit('error', 'a frame of length#json within the limit is expected');
    this.netSocket.destroy();
  }

  /** Only who gave a key that is accepted gets an answer without `err`. */
  protected override handleSend(message: { err?: unknown } | null, callback?: (error?: unknown) => void): void {
    this.#pending = Math.max(0, this.#pending - 1);
    if (message?.err == null) this.#settle();
    super.handleSend(message, callback);
  }

  /** @returns whether there is room for it */
  #hold(characters: number): boolean {
    if (this.#isKnown) return true;
    heldOfStrangers += characters - this.#held;
    this.#held = characters;
    return heldOfStrangers <= limits.unauthenticatedCharactersMax;
  }

  #look(): void {
    // A question that waits for its answer is one whose key was looked at, or is about to be.
    if (this.#pending === 0) this.netSocket.destroy();
  }

  #settle(): void {
    if (this.#isKnown) return;
    this.#isKnown = true;
    strangers -= 1;
    heldOfStrangers -= this.#held;
    clearInterval(this.#timer);
  }
}
