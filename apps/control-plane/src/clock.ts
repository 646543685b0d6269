/** The only source of time of the control plane. */
export class Clock {
  now(): Date {
    return new Date();
  }

  /** Unix seconds. */
  at(): number {
    return Math.floor(this.now().getTime() / 1000);
  }
}
