import type { IsolationRung } from '@flotilla/protocol/isolation'
import type { BrowserContainers } from './browser-containers.ts'
import type { PackageImages } from './package-images.ts'
import type { ReportStep } from './report-step.ts'
import type { SandboxSpec } from './sandbox-spec.ts'
import type { WallReport } from './wall-report.ts'

/**
 * PORT: runs the process of each agent, in four roles. Adapters are the folders beside this file and pass
 * `sandbox-runtime.conformance.ts`.
 *
 * Contract
 * - S1 `start` re-creates: an earlier sandbox of this agent id is removed, its data directory is kept.
 * - S2 `start` resolves once the process has been started, not once it answers; the caller polls health.
 * - S3 `stop` and `remove` are idempotent; an unknown agent id is not an error.
 * - S4 `list` returns every sandbox of this home, also those that an earlier mesh process started.
 * - S5 An unrequested end reaches `onEnd` listeners once; ends requested by `stop` and `remove` do not.
 * - S6 An operation that cannot be done rejects with `SandboxError`, whose message names the repair.
 * - S7 Existing data is kept whatever its limit. A limit that cannot be applied is a warning in the state
 *   that `start` returns. Data that was limited once is never started without its limit.
 * - S8 A sandbox may use more processor time than its spec allows until `endStartShare` resolves, or for 2 s (a
 *   virtual machine: 90 s) after its process began, whichever is first. Afterwards the spec applies, even if the mesh
 *   that started the sandbox has ended: `endStartShare` also resets sandboxes that have a start share of an earlier
 *   process. All start shares together leave a part of the machine free, and a sandbox that restarts repeatedly gets
 *   no more than its share on average.
 * - S9 `readData` gives a consistent snapshot: the sandbox is frozen while its data is read, for half a
 *   minute at most, and continues afterwards however the reading ended. If the mesh is killed during the
 *   reading, `prepare` of the next process resumes the sandbox.
 * - S10 `writeData` writes data only if none exists.
 */
export interface SandboxRuntime extends SandboxPlace, SandboxIsolation, Sandboxes, SandboxData {
  /** The browsers of agents; null if the runtime cannot isolate browsers. */
  readonly browsers: BrowserContainers | null
  /** Images with packages; null if the runtime cannot build images. */
  readonly packages: PackageImages | null
  /** Images that the owner names; null if the runtime cannot use them. */
  readonly ownImages: OwnImages | null
}

/** Images that the owner names by digest, made fit for agents. */
export interface OwnImages {
  /**
   * Returns the id for `SandboxSpec.image` of an image with the files of the owner's image and the agent's own program.
   * Nothing of the owner's image runs before all walls of an agent are around it. Rejects with `SandboxError`
   * `own-image-missing`, and `own-image-refused` with the reason.
   */
  ensure(
    reference: string,
    how: { readonly progress: ReportStep; readonly signal?: AbortSignal | undefined },
  ): Promise<string>
}

/** Where the sandboxes of a home run: an engine, a cluster, or this machine itself. */
export interface SandboxPlace {
  readonly kind: string
  /** False if agents share the owner's user and network; then every user interface shows a warning. */
  readonly isolates: boolean
  /** True if agents run on other machines: then agents and mesh communicate only over keyed connections. */
  readonly crossesMachines: boolean
  /** Returns the address on which the agent API must listen so that sandboxes reach it. Known after `prepare`. */
  listenHost(): string
  /**
   * Returns the address at which sandboxes reach the mesh: `listenHost()`, unless a Service is in front of the mesh.
   * Known after `prepare`.
   */
  meshAddress(): string
  /** Returns the engine's current networks, which the egress filter closes to agents. Known after `prepare`. */
  networks(): Promise<readonly SandboxNetwork[]>
  /**
   * Returns what the machine has for sandboxes; null if something else distributes its resources, or nothing limits
   * sandboxes. Known after `prepare`.
   */
  capacity(): Capacity | null
  /** Returns what runs beside agents now and uses memory of `capacity`: builds of images, and browsers. */
  beside(): readonly BesideAgents[]
  /** Creates network, firewall rules and image. Idempotent. Reports progress in plain words. */
  prepare(options: { readonly progress: ReportStep; readonly signal?: AbortSignal }): Promise<void>
  /**
   * Adds a listener that is called each time the engine is reachable again: its networks and rules may have changed.
   * Returns the function that removes the listener.
   */
  onEngineBack(listener: () => void): () => void
  /**
   * Deletes everything that this home has: sandboxes, their data, network and rules. Needs no `prepare`.
   * Idempotent.
   */
  erase(options: { readonly progress: (step: string) => void; readonly signal?: AbortSignal }): Promise<void>
  /** Disconnects from the engine; sandboxes continue. */
  close(): Promise<void>
}

/** Tests what separates sandboxes from everything else. */
export interface SandboxIsolation {
  /**
   * Tests in each call, by an experiment, whether sandboxes can run at this isolation level. Installs what the level
   * needs if that is allowed.
   */
  tryRung(rung: IsolationRung, progress?: (step: string) => void): Promise<RungTrial>
  /**
   * Tests the walls from inside a throw-away sandbox at an available isolation level. The agent API must be
   * listening.
   */
  checkIsolation(options: {
    readonly meshPort: number
    /** The isolation level to test; `container` by default. */
    readonly rung?: IsolationRung
    readonly signal?: AbortSignal
  }): Promise<readonly WallReport[]>
}

/** The sandboxes of agents (S1 to S6, S8). */
export interface Sandboxes {
  start(spec: SandboxSpec): Promise<SandboxState>
  /**
   * Resolves when the sandbox is limited to its spec. Idempotent; an unknown or ended sandbox is not an error. Await
   * the promise before the agent gets work.
   */
  endStartShare(agentId: string): Promise<void>
  stop(agentId: string, options: { readonly graceMs: number }): Promise<void>
  /** Stops and deletes the sandbox; if `data` is true, also the agent's data. */
  remove(agentId: string, options: { readonly data: boolean }): Promise<void>
  /** Returns the state of the agent's sandbox; null if this home has none for the agent. */
  inspect(agentId: string): Promise<SandboxState | null>
  list(): Promise<readonly SandboxState[]>
  /** Returns the last `maxBytes` of the output of the agent's process. */
  logs(agentId: string, maxBytes: number): Promise<string>
  /** Measures the current resource use of sandboxes; stopped sandboxes are left out. */
  measureUse(agentIds: readonly string[]): Promise<ReadonlyMap<string, SandboxUse>>
  onEnd(listener: (end: SandboxEnd) => void): () => void
}

/** The data of agents, which outlives their sandboxes (S7, S9, S10). */
export interface SandboxData {
  /** Returns how the data of newly created agents is limited. Known after `prepare`. */
  dataBound(): DataBound
  /**
   * Measures the stored data of agents whose data no volume limits. Other agents, and agents without data, are left
   * out.
   */
  measureData(agentIds: readonly string[]): Promise<ReadonlyMap<string, DataUse>>
  /** Returns an agent's data as a POSIX archive; null if the agent has no data. */
  readData(agentId: string, options: { readonly dataLimitBytes: number }): Promise<DataReading | null>
  writeData(
    agentId: string,
    tar: AsyncIterable<Uint8Array>,
    options: { readonly dataLimitBytes: number },
  ): Promise<void>
}

export interface Capacity {
  readonly memoryBytes: number
  readonly cpus: number
}

export interface BesideAgents {
  /** What it is, as words for people. */
  readonly name: string
  /** Its memory limit. */
  readonly memoryBytes: number
}

export interface RungTrial {
  readonly available: boolean
  /** A description of the isolation level, or why the level is not available. */
  readonly detail: string
  /** What the owner must do to make the level available; empty if it is available. */
  readonly repair: string
}

export interface SandboxUse {
  /** Memory in use, without reclaimable page cache, bytes. */
  readonly memoryBytes: number
  /** Limit of the sandbox's memory, bytes; null for no limit. */
  readonly memoryLimitBytes: number | null
  /** Processor seconds used since the sandbox started. */
  readonly cpuSeconds: number
}

export interface SandboxNetwork {
  readonly address: string
  /** Number of leading bits that all addresses of the network share. */
  readonly prefix: number
  /** True for the network on which this home's sandboxes run. */
  readonly own: boolean
}

export interface SandboxState {
  readonly agentId: string
  readonly running: boolean
  /** The agent's address for the mesh; present while the sandbox is running. */
  readonly address?: { readonly host: string; readonly port: number }
  readonly labels: Readonly<Record<string, string>>
  /** Set when the sandbox is not running: the exit code, and whether lack of memory ended the process. */
  readonly exit?: { readonly code: number; readonly outOfMemory: boolean }
  /** What this start requested and could not get, as sentences for the owner. */
  readonly warnings?: readonly string[]
}

/**
 * `volume`: writes above the limit fail. `meter`: the size is checked periodically, and an agent above it is stopped.
 */
export type DataBound =
  | { readonly kind: 'volume' }
  | { readonly kind: 'meter'; /** Why it is no volume. */ readonly why: string }

export interface DataReading {
  /** The archive. After its end the sandbox continues; a caller that does not read it to the end calls `leave`. */
  readonly tar: AsyncIterable<Uint8Array>
  /** False if the sandbox was not frozen for the whole reading: files that it changed may be inconsistent. */
  held(): boolean
  /** Lets the sandbox continue and releases the resources of the reading. Idempotent. */
  leave(): Promise<void>
}

export interface DataUse {
  readonly bytes: number
  /** The number of files and folders. */
  readonly files: number
  /** False if a limit of time or files ended the counting: both numbers are then lower bounds. */
  readonly complete: boolean
}

export interface SandboxEnd {
  readonly agentId: string
  readonly code: number
  readonly outOfMemory: boolean
}
