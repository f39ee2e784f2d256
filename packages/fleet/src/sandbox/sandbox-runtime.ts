import type { IsolationRung } from '@flotilla/protocol/isolation'
import type { BrowserContainers } from './browser-containers.ts'
import type { ReportStep } from './report-step.ts'
import type { SandboxSpec } from './sandbox-spec.ts'
import type { WallReport } from './wall-report.ts'

/**
 * PORT: runs the process of each agent. Adapters are beside this file and pass
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
 * - S8 A sandbox may use more processor time than its spec allows until `endStartShare` resolves, or for 2 s
 *   (a machine: 90 s) after its process began, whichever is first. Afterwards the spec applies, even if the
 *   mesh that started it is gone: `endStartShare` also resets sandboxes that an earlier process left with
 *   more. All start shares together leave a part of the machine free, and a sandbox that restarts repeatedly
 *   gets no more than its share on average.
 * - S9 `readData` gives a consistent snapshot: the sandbox is frozen while its data is read, for half a
 *   minute at most, and continues afterwards however the reading ended. If the mesh was killed meanwhile,
 *   `prepare` of the next process resumes the sandbox.
 * - S10 `writeData` writes data only if none exists.
 */
export interface SandboxRuntime {
  readonly kind: string
  /** False if agents share the owner's user and network; every surface then shows a warning. */
  readonly isolates: boolean
  /** True if agents run on other machines: then agents and mesh communicate only over keyed connections. */
  readonly crossesMachines: boolean
  /** The browsers of agents; null if nothing would isolate them. */
  readonly browsers: BrowserContainers | null
  /** Address on which the agent API must listen so that sandboxes reach it. Known after `prepare`. */
  listenHost(): string
  /**
   * The address at which sandboxes reach the mesh: `listenHost()`, unless a Service is in front of the mesh. Known
   * after `prepare`.
   */
  meshAddress(): string
  /** The engine's current networks, which the egress filter closes to agents. Known after `prepare`. */
  networks(): Promise<readonly SandboxNetwork[]>
  /** Makes network, rules and image ready. Idempotent. Reports progress in plain words. */
  prepare(options: { readonly progress: ReportStep; readonly signal?: AbortSignal }): Promise<void>
  /**
   * Tests by experiment whether sandboxes can run at this isolation level, again with each call. Installs
   * what it needs if that is allowed.
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
  start(spec: SandboxSpec): Promise<SandboxState>
  /**
   * Resolves when the sandbox is limited to its spec. Idempotent; an unknown or ended sandbox is not an error. Await it
   * before the agent gets work.
   */
  endStartShare(agentId: string): Promise<void>
  stop(agentId: string, options: { readonly graceMs: number }): Promise<void>
  /** Stops and deletes the sandbox; with `data` also the agent's data. */
  remove(agentId: string, options: { readonly data: boolean }): Promise<void>
  /** The state of the agent's sandbox; null if this home has none for the agent. */
  inspect(agentId: string): Promise<SandboxState | null>
  list(): Promise<readonly SandboxState[]>
  /** The last `maxBytes` of the process output. */
  logs(agentId: string, maxBytes: number): Promise<string>
  /** The current resource use of sandboxes; stopped ones are left out. */
  measureUse(agentIds: readonly string[]): Promise<ReadonlyMap<string, SandboxUse>>
  /** How the data of newly created agents is limited. Known after `prepare`. */
  dataBound(): DataBound
  /**
   * The stored data of agents whose data no volume limits; other agents, and those without data, are left
   * out.
   */
  measureData(agentIds: readonly string[]): Promise<ReadonlyMap<string, DataUse>>
  /** An agent's data as a POSIX archive; null if it has no data. */
  readData(agentId: string, options: { readonly dataLimitBytes: number }): Promise<DataReading | null>
  writeData(
    agentId: string,
    tar: AsyncIterable<Uint8Array>,
    options: { readonly dataLimitBytes: number },
  ): Promise<void>
  /**
   * Called each time the engine is back after it was unreachable: its networks and rules may have changed
   * meanwhile.
   */
  onEngineBack(listener: () => void): () => void
  onEnd(listener: (end: SandboxEnd) => void): () => void
  /** Deletes everything that this home has: sandboxes, their data, network and rules. Needs no `prepare`. Idempotent. */
  erase(options: { readonly progress: (step: string) => void; readonly signal?: AbortSignal }): Promise<void>
  /** Disconnects from the engine; sandboxes continue. */
  close(): Promise<void>
}

export interface RungTrial {
  readonly available: boolean
  /** A description of the level, or why it is not available. */
  readonly detail: string
  /** What the owner does about it; empty if the level is available. */
  readonly repair: string
}

export interface SandboxUse {
  /** Memory in use, without reclaimable page cache. */
  readonly memoryBytes: number
  /** Null if the memory is not limited. */
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
  /** The agent's address for the mesh; present while running. */
  readonly address?: { readonly host: string; readonly port: number }
  readonly labels: Readonly<Record<string, string>>
  /** Set when not running: exit code, and whether memory ran out. */
  readonly exit?: { readonly code: number; readonly outOfMemory: boolean }
  /** What this start requested and could not get, in words for the owner. */
  readonly warnings?: readonly string[]
}

/**
 * `volume`: writes past the limit fail. `meter`: the size is checked periodically, and writing is then
 * stopped.
 */
export type DataBound =
  | { readonly kind: 'volume' }
  | { readonly kind: 'meter'; /** Why it is no volume. */ readonly why: string }

export interface DataReading {
  /** The archive. Reading it to the end also releases the hold; a caller that stops early calls `leave`. */
  readonly tar: AsyncIterable<Uint8Array>
  /** False if the sandbox had to continue before its data was read: files that it changed may be inconsistent. */
  held(): boolean
  /** Releases the hold and the resources of the reading. Idempotent. */
  leave(): Promise<void>
}

export interface DataUse {
  readonly bytes: number
  /** The number of files and folders. */
  readonly files: number
  /** False if counting was cut off by its time limit: both numbers are then lower bounds. */
  readonly complete: boolean
}

export interface SandboxEnd {
  readonly agentId: string
  readonly code: number
  readonly outOfMemory: boolean
}
