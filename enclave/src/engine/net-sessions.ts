/**
 * Runs steps of a net on onnxruntime: by the graph that leaves its parameters unwatched where bounds show that they stay
 * within their guards, else by the one that tells which of them left it (libs/step/SPEC.md §26).
 */
import { InferenceSession, type NamedTensors } from '#libs/onnx';
import {
  buildNetTrainGraph,
  hasMoves,
  parameterShapes,
  staysGuarded,
  type NetManifest,
  type NetTrainGraph,
} from '#libs/step';
import { magnitudes } from './tensors.js';

interface Opened {
  readonly graph: NetTrainGraph;
  readonly session: InferenceSession;
}

interface Steps {
  /** The state, by name. */
  readonly tensors: NamedTensors;
  readonly first: number;
  readonly count: number;
}

export class NetSessions {
  readonly #opened = new Map<boolean, Promise<Opened>>();

  private constructor(
    readonly manifest: NetManifest,
    private readonly options: InferenceSession.SessionOptions,
  ) {}

  static async open(manifest: NetManifest, options: InferenceSession.SessionOptions): Promise<NetSessions> {
    const sessions = new NetSessions(manifest, options);
    await sessions.#open(!hasMoves(manifest));
    return sessions;
  }

  /** @returns the graph for these steps and its session, opened when first needed */
  async for({ tensors, first, count }: Steps): Promise<Opened> {
    if (!hasMoves(this.manifest)) return this.#open(true);
    const names = parameterShapes(this.manifest).flatMap(({ name, isFrozen }) => (isFrozen ? [] : [name]));
    const most = magnitudes(tensors, names);
    return this.#open(!staysGuarded(this.manifest, first, count, (name) => most[name]!));
  }

  async close(): Promise<void> {
    const opened = await Promise.all(this.#opened.values());
    await Promise.all(opened.map(({ session }) => session.release()));
  }

  #open(isWatched: boolean): Promise<Opened> {
    const opened = this.#opened.get(isWatched) ?? this.#create(isWatched);
    this.#opened.set(isWatched, opened);
    return opened;
  }

  async #create(isWatched: boolean): Promise<Opened> {
    const graph = buildNetTrainGraph(this.manifest, isWatched);
    return { graph, session: await InferenceSession.create(graph.model, this.options) };
  }
}
