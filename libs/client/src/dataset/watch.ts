/** How long work tells where it is. */
export interface Progress {
  readonly stage: 'commit' | 'seal' | 'upload';
  readonly done: number;
  readonly of: number;
  readonly unit: 'bytes';
}

export interface Watch {
  onProgress?(progress: Progress): void;
  /** Ends the work between two shards; it goes on from there when it is asked for again. */
  readonly signal?: AbortSignal | undefined;
}
