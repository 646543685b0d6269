/**
 * Runs steps of a net on onnxruntime. The quick graph comes first, whose checks say whether it was exact; and parameters
 * are watched only where no bound shows that they stay within their guards (libs/step/SPEC.md §26).
 */
import { carriesBytes, InferenceSession, type NamedTensors } from '#libs/onnx';
import {
  buildNetTrainGraph,
  hasMoves,
  parameterShapes,
  staysGuarded,
  type NetManifest,
  type NetTrainGraph,
} from '#libs/step';
import { stateMagnitudes } from './net-state.js';

/** Steps without the quick graph once a call of it was not sure. */
const pauseSteps = 500;
/** Whole numbers below this are carried by float32. */
const singleMax = 2 ** 24;

type Way = Pick<NonNullable<Parameters<typeof buildNetTrainGraph>[1]>, 'isQuick' | 'isWatched'>;

interface Graphs {
  /** Whether every step counts on its edges. */
  readonly isCounted: boolean;
  /** Whether it may take products by bytes. */
  readonly hasBytes: boolean;
  /** Whether the quick graph comes first. */
  readonly hasQuick: boolean;
}

interface Opened {
  readonly graph: NetTrainGraph;
  readonly session: InferenceSession;
}

interface Steps {
  /** The state, packed. */
  readonly tensors: NamedTensors;
  readonly first: number;
  readonly count: number;
}

export interface NetRun {
  readonly graph: NetTrainGraph;
  readonly result: InferenceSession.ReturnType;
}

export class NetSessions {
  readonly #opened = new Map<string, Promise<Opened>>();
  #pauseUntil = -1;

  private constructor(
    readonly manifest: NetManifest,
    private readonly options: InferenceSession.SessionOptions,
    private readonly graphs: Graphs,
  ) {}

  static async open(
    manifest: NetManifest,
    options: InferenceSession.SessionOptions,
    graphs: Graphs,
  ): Promise<NetSessions> {
    const hasBytes = graphs.hasBytes && (await carriesBytes());
    const sessions = new NetSessions(manifest, options, { ...graphs, hasBytes });
    await sessions.#open({ isQuick: graphs.hasQuick, isWatched: !hasMoves(manifest) });
    return sessions;
  }

  /** @param feeds of these steps @returns the outputs, and the graph that they are of */
  async run(feeds: InferenceSession.FeedsType, steps: Steps): Promise<NetRun> {
    const isWatched = !this.#isGuarded(steps);
    if (this.graphs.hasQuick && steps.first >= this.#pauseUntil) {
      const quick = await this.#run(feeds, { isQuick: true, isWatched });
      if (isSure(quick)) return quick;
      this.#pauseUntil = steps.first + pauseSteps;
    }
    return this.#run(feeds, { isQuick: false, isWatched });
  }

  async close(): Promise<void> {
    const opened = await Promise.all(this.#opened.values());
    await Promise.all(opened.map(({ session }) => session.release()));
  }

  #isGuarded({ tensors, first, count }: Steps): boolean {
    if (!hasMoves(this.manifest)) return false;
    const names = parameterShapes(this.manifest).flatMap(({ name, isFrozen }) => (isFrozen ? [] : [name]));
    const most = stateMagnitudes(this.manifest, tensors, names);
    return staysGuarded(this.manifest, first, count, (name) => most.get(name)!);
  }

  async #run(feeds: InferenceSession.FeedsType, way: Way): Promise<NetRun> {
    const { graph, session } = await this.#open(way);
    return { graph, result: await session.run(feeds) };
  }

  /** Opens a session when it is first needed. */
  #open(way: Way): Promise<Opened> {
    const key = `${way.isQuick} ${way.isWatched}`;
    const opened = this.#opened.get(key) ?? this.#create(way);
    this.#opened.set(key, opened);
    return opened;
  }

  async #create(way: Way): Promise<Opened> {
    const { isCounted, hasBytes } = this.graphs;
    const graph = buildNetTrainGraph(this.manifest, { ...way, isCounted, hasBytes });
    return { graph, session: await InferenceSession.create(graph.model, this.options) };
  }
}

/** Whether float32 carried every number that it had to. */
function isSure({ graph, result }: NetRun): boolean {
  return graph.checks.every(({ output }) =>
    (result[output]!.data as Float64Array).every((magnitude) => magnitude < singleMax),
  );
}
