/** How far fetching and building are. */
export interface GuestProgress {
  /** fetch, build. */
  readonly stage: string;
  readonly done: number;
  readonly of: number;
  readonly unit: 'inputs' | 'steps';
  /** What is next. */
  readonly name?: string;
}
