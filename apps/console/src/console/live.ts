/** Follows one job's events: from the first on, again after a break from the last one seen, to its end, and on if it goes on. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask } from './api.js';
import { isEnd } from './job-state.js';
import type { Progress } from './types.js';

export interface Moment {
  readonly id: string;
  readonly type: string;
  readonly at: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface Story {
  readonly progress: readonly Progress[];
  /** What was measured on the validation set, as the node says. */
  readonly evaluations: readonly Evaluation[];
  /** Steps after which a checkpoint is kept. */
  readonly checkpoints: readonly number[];
  /** Segments with a proof that was verified. */
  readonly proofs: ReadonlySet<number>;
  /** Everything but progress, oldest first. */
  readonly moments: readonly Moment[];
  readonly isLive: boolean;
  /** Since when nothing is heard that should be: ISO 8601, UTC. */
  readonly awayAt: string | null;
}

export interface Evaluation {
  readonly step: number;
  readonly metrics: readonly { readonly metric: string; readonly numerator: string; readonly denominator: string }[];
}

const types = [
  ...['state', 'progress', 'evaluation', 'checkpoint', 'renewed', 'escrow', 'delivery'],
  ...['segment', 'training', 'segment-failed', 'proof', 'proving', 'proof-failed'],
] as const;
/** Points and moments of one job that a page keeps. */
const kept = { points: 50_000, moments: 2000 };
/** So often the page is drawn anew, whatever comes. */
const drawMs = 200;
/** After a refusal, as of a control plane that sheds what it is asked. */
const againMs = 5000;

const noStory: Story = {
  ...{
    progress: [],
    evaluations: [],
    checkpoints: [],
    proofs: new Set<number>(),
    moments: [],
    isLive: false,
    awayAt: null,
  },
};

/**
 * The control plane ends the stream of a job at its end, and a browser asks again by itself. The stream is left when such a
 * connection brought nothing more: however slowly events come, none is cut off by a clock.
 *
 * @param isOver whether the job is at an end now; where it goes on, so does its story
 * @param onState called when the job's state changes
 */
export function useStory(jobId: string, isOver: boolean, onState: () => void): Story {
  const [turn, setTurn] = useState(0);
  const isLeft = useRef(false);
  useEffect(() => {
    if (!isOver && isLeft.current) setTurn((last) => last + 1);
  }, [isOver]);
  const [story, setStory] = useState<Story>(noStory);
  const latest = useRef({ isOver, onState });
  latest.current = { isOver, onState };
  useEffect(() => {
    const draft = emptyDraft();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let again: ReturnType<typeof setTimeout> | undefined;
    /** Of the connection that is open. */
    let heard = 0;
    let [isOpen, isAtEnd] = [false, false];
    isLeft.current = false;
    const draw = (): void => {
      timer ??= setTimeout(() => {
        timer = undefined;
        setStory({ ...draft });
      }, drawMs);
    };
    const source = new EventSource(`/v1/jobs/${jobId}/events`);
    const stop = (): void => {
      source.close();
      isLeft.current = true;
      draft.isLive = false;
      draw();
    };
    const take = (event: MessageEvent<string>): void => {
      const moment = momentOf(event);
      if (moment === null) return;
      heard += 1;
      grow(draft, moment);
      draw();
      if (moment.type !== 'state' && moment.type !== 'escrow') return;
      if (moment.type === 'state') isAtEnd = isEnd(String(moment.data['to']));
      latest.current.onState();
    };
    for (const type of types) source.addEventListener(type, take);
    const setAway = (isAway: boolean): void => setStory((was) => awayOf(was, draft, isAway));
    source.addEventListener('open', () => {
      [isOpen, heard] = [true, 0];
      setAway(false);
    });
    source.addEventListener('error', () => {
      // A browser tries again by itself, but for an answer that was no stream: then somebody asks whether it is signed in.
      if (source.readyState === EventSource.CLOSED) {
        setAway(true);
        again ??= setTimeout(() => setTurn((last) => last + 1), againMs);
        return void ask('/v1/me').catch(() => undefined);
      }
      const isEmpty = isOpen && heard === 0;
      isOpen = false;
      if (isEmpty && isAtEnd && latest.current.isOver) stop();
      else if (!isAtEnd) setAway(true);
    });
    return () => {
      source.close();
      clearTimeout(timer);
      clearTimeout(again);
    };
  }, [jobId, turn]);
  return story;
}

/** Whether the story has come as far as the job: before, what is missing may be on its way. */
export function isToldTo(state: string, { moments }: Pick<Story, 'moments'>): boolean {
  const last = moments.findLast(({ type }) => type === 'state');
  return last === undefined ? moments.length > 0 : last.data['to'] === state;
}

function momentOf({ type, data, lastEventId }: MessageEvent<string>): Moment | null {
  try {
    const said = JSON.parse(data) as Record<string, unknown>;
    return { id: lastEventId, type, at: String(said['at']), data: said };
  } catch {
    return null;
  }
}

/** The same lists all along: a long job has a hundred thousand points, and a copy for each would take minutes. */
interface Draft {
  readonly progress: Progress[];
  readonly evaluations: Evaluation[];
  readonly checkpoints: number[];
  readonly proofs: Set<number>;
  readonly moments: Moment[];
  isLive: boolean;
  awayAt: string | null;
}

const emptyDraft = (): Draft => ({
  ...{ progress: [], evaluations: [], checkpoints: [], proofs: new Set<number>(), moments: [] },
  ...{ isLive: true, awayAt: null },
});

/** What the last connection brought stays while this one has brought nothing. */
function awayOf(was: Story, draft: Draft, isAway: boolean): Story {
  draft.awayAt = isAway ? (was.awayAt ?? new Date().toISOString()) : null;
  return { ...was, awayAt: draft.awayAt };
}

function grow(story: Draft, moment: Moment): void {
  const { type, data } = moment;
  if (type === 'progress') return keep(story.progress, data as unknown as Progress, kept.points);
  if (type === 'evaluation') return keep(story.evaluations, data as unknown as Evaluation, kept.points);
  if (type === 'training' || type === 'proving') return;
  if (type === 'checkpoint') keep(story.checkpoints, Number(data['step']), kept.points);
  if (type === 'proof') story.proofs.add(Number(data['index']));
  keep(story.moments, moment, kept.moments);
}

function keep<T>(list: T[], one: T, max: number): void {
  list.push(one);
  if (list.length > max) list.splice(0, list.length - max);
}
