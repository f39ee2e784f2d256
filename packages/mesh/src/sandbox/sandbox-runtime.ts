import type { IsolationRung } from '@flotilla/protocol/isolation'
import type { BrowserContainers } from './browser-containers.ts'
import type { ReportStep } from './report-step.ts'
import type { SandboxSpec } from './sandbox-spec.ts'
import type { WallReport } from './wall-report.ts'

/**
 * PORT: where an agent's process lives. Adapters stand beside this file and pass `sandbox-runtime.conformance.ts`.
 *
 * Contract
 * - S1 `start` re-creates: whatever ran under this agent id before is gone, its data directory stays.
 * - S2 `start` resolves once the process has been started, not once it answers; the caller polls health.
 * - S3 `stop` and `remove` are idempotent; an unknown agent id is not an error.
 * - S4 `list` returns every sandbox of this home, also those that an earlier process of ours started.
 * - S5 an end that nobody asked for reaches `onEnd` listeners once; ends asked for by `stop` and `remove` do not.
 * - S6 anything that cannot be done rejects with `SandboxError`, whose message names the repair.
 * - S7 data that is there is kept whatever its limit: a limit that cannot be had is a warning of the state that `start`
 *   gives, and data that was limited once is never started without its limit.
 * - S8 a sandbox may have more of the processor than its spec says until `endStartShare` resolves, or for 2 s (a
 *   machine of its own for 90 s) from when its process began, whichever is first; then it has what the spec says for the rest of its life, also where the mesh
 *   that started it is gone: `endStartShare` brings one back that an earlier process of ours left with more. All that
 *   have more at once leave a part of the machine free, and one that starts over and over gets no more than its share
 *   again.
 * - S9 `readData` gives data as it stood at one moment: what runs on it is held while it is read, for half a minute at most,
 *   and goes on afterwards whoever ended the reading. After a life of ours that was killed meanwhile, `prepare` lets it go on.
 * - S10 `writeData` puts data only where there is none.
 */
export interface SandboxRuntime {
  readonly kind: string
  /** False where agents share the owner's user and network; then every surface says so. */
  readonly isolates: boolean
  /** True where agents live on other machines: then nothing goes between them and the mesh but over a keyed line. */
  readonly crossesMachines: boolean
  /** Where the browsers of agents live; null where nothing would wall them in. */
  readonly browsers: BrowserContainers | null
  /** Address on which the agent API must listen so that sandboxes reach it. Known after `prepare`. */
  listenHost(): string
  /** Where sandboxes call it: the same, unless something stands in front of the mesh. Known after `prepare`. */
  meshAddress(): string
  /** Every network of the engine as it is now, so that nothing is fetched from one. Known after `prepare`. */
  networks(): Promise<readonly SandboxNetwork[]>
  /** Makes network, rules and image ready. Idempotent. Reports progress in plain words. */
  prepare(options: { readonly progress: ReportStep; readonly signal?: AbortSignal }): Promise<void>
  /**
   * Whether sandboxes can be had on this rung, found out by making one, anew with each call. Installs what it needs where
   * that is allowed.
   */
  tryRung(rung: IsolationRung, progress?: (step: string) => void): Promise<RungTrial>
  /** Tries the walls from inside a throw-away sandbox on a rung that can be had. The agent API must be listening. */
  checkIsolation(options: {
    readonly meshPort: number
    /** `container` where it is left out. */
    readonly rung?: IsolationRung
    readonly signal?: AbortSignal
  }): Promise<readonly WallReport[]>
  start(spec: SandboxSpec): Promise<SandboxState>
  /**
   * Resolves when the sandbox is bounded as its spec says. Idempotent; one that is unknown or ended is no error. To be
   * awaited before an agent is given work.
   */
  endStartShare(agentId: string): Promise<void>
  stop(agentId: string, options: { readonly graceMs: number }): Promise<void>
  /** Stops and deletes; with `data` also what the agent kept. */
  remove(agentId: string, options: { readonly data: boolean }): Promise<void>
  /** Null where this home has no sandbox for the agent. */
  inspect(agentId: string): Promise<SandboxState | null>
  list(): Promise<readonly SandboxState[]>
  /** The last `maxBytes` of what the process printed. */
  logs(agentId: string, maxBytes: number): Promise<string>
  /** What sandboxes take of the machine now; those that do not run are left out. */
  measureUse(agentIds: readonly string[]): Promise<ReadonlyMap<string, SandboxUse>>
  /** What bounds the data of agents that are created now. Known after `prepare`. */
  dataBound(): DataBound
  /** What agents keep whose data no volume bounds; others, and those without data, are left out. */
  measureData(agentIds: readonly string[]): Promise<ReadonlyMap<string, DataUse>>
  /** What an agent keeps, as a POSIX archive; null where it keeps nothing. */
  readData(agentId: string, options: { readonly dataLimitBytes: number }): Promise<DataReading | null>
  writeData(
    agentId: string,
    tar: AsyncIterable<Uint8Array>,
    options: { readonly dataLimitBytes: number },
  ): Promise<void>
  /** Hears each time the engine is back after it was out of reach: it may have changed networks and rules meanwhile. */
  onEngineBack(listener: () => void): () => void
  onEnd(listener: (end: SandboxEnd) => void): () => void
  /** Deletes everything that this home has: sandboxes, their data, network and rules. Needs no `prepare`. Idempotent. */
  erase(options: { readonly progress: (step: string) => void; readonly signal?: AbortSignal }): Promise<void>
  /** Lets go of the engine; sandboxes go on. */
  close(): Promise<void>
}

export interface RungTrial {
  readonly available: boolean
  /** What it is made of, or why it cannot be had. */
  readonly detail: string
  /** What the owner does about it; empty where it can be had. */
  readonly repair: string
}

export interface SandboxUse {
  /** Without what the kernel keeps of files and can let go of. */
  readonly memoryBytes: number
  /** Null where nothing bounds it. */
  readonly memoryLimitBytes: number | null
  /** Of one processor, since it began. */
  readonly cpuSeconds: number
}

export interface SandboxNetwork {
  readonly address: string
  /** Leading bits that all its addresses share. */
  readonly prefix: number
  /** True for the one that sandboxes of this home live on. */
  readonly own: boolean
}

export interface SandboxState {
  readonly agentId: string
  readonly running: boolean
  /** Where the mesh reaches the agent; present while running. */
  readonly address?: { readonly host: string; readonly port: number }
  readonly labels: Readonly<Record<string, string>>
  /** Set when not running: exit code, and whether memory ran out. */
  readonly exit?: { readonly code: number; readonly outOfMemory: boolean }
  /** What was asked of this start and could not be had, in words for the owner. */
  readonly warnings?: readonly string[]
}

/** `volume`: nothing can be written past the limit. `meter`: it is looked at now and then, and writing is stopped. */
export type DataBound =
  | { readonly kind: 'volume' }
  | { readonly kind: 'meter'; /** Why it is no volume. */ readonly why: string }

export interface DataReading {
  /** Read to its end, it ends the hold too; whoever does not come so far, or never begins, calls `leave`. */
  readonly tar: AsyncIterable<Uint8Array>
  /** False once what runs there had to go on before all was read: files that it was changing may be torn. */
  held(): boolean
  /** Ends the hold and what reading takes; again, it waits for the same. */
  leave(): Promise<void>
}

export interface DataUse {
  readonly bytes: number
  /** Files and folders. */
  readonly files: number
  /** False where counting took too long: then both are at least so many. */
  readonly complete: boolean
}

export interface SandboxEnd {
  readonly agentId: string
  readonly code: number
  readonly outOfMemory: boolean
}
