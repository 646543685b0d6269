/** A transcript that also hands every challenge to the prover's scripts, in order and under its own tag. */
import type { Ext } from '../commit/field/extension.js';
import type { Site } from '../transcript/sites.js';
import { Transcript } from '../transcript/transcript.js';

export class RecordingTranscript extends Transcript {
  readonly #challenges: { site: Site; value: Ext }[] = [];
  readonly #indices: { site: Site; value: number[] }[] = [];

  override challenge(site: Site): Ext {
    const value = super.challenge(site);
    this.#challenges.push({ site, value });
    return value;
  }

  override indices(site: Site, count: number, bits: number): number[] {
    const value = super.indices(site, count, bits);
    this.#indices.push({ site, value });
    return value;
  }

  /** The oldest challenge not yet taken. */
  take(site: Site): Ext {
    return taken(this.#challenges, site);
  }

  takeIndices(site: Site): number[] {
    return taken(this.#indices, site);
  }
}

function taken<T>(queue: { site: Site; value: T }[], site: Site): T {
  const next = queue.shift();
  if (next?.site !== site) throw new Error(`the prover expects ${site}, the verifier drew ${next?.site ?? 'nothing'}`);
  return next.value;
}
