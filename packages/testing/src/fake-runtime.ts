import type { IsolationRung } from '@flotilla/protocol/isolation'
import { silentLog } from '../../foundation/src/platform/log.ts'
import { systemClock } from '../../foundation/src/platform/system-clock.ts'
import { tarArchive, tarFile } from '../../fleet/src/sandbox/tar-archive.ts'
import { seedEntries } from '../../fleet/src/sandbox/hardening/seed-entries.ts'
import { dataThere, reasonOf, SandboxError } from '../../fleet/src/sandbox/sandbox-error.ts'
import type {
  DataUse,
  RungTrial,
  SandboxEnd,
  SandboxRuntime,
  SandboxState,
} from '../../fleet/src/sandbox/sandbox-runtime.ts'
import type { SandboxSpec } from '../../fleet/src/sandbox/sandbox-spec.ts'
import type { WallReport } from '../../fleet/src/sandbox/wall-report.ts'
import { createStartShares } from '../../fleet/src/sandbox/start-shares.ts'

/** What fake sandboxes share, as containers share an engine; it outlives the runtimes that use it. */
export interface FakeEngine {
  readonly sandboxes: Map<string, FakeSandbox>
  /** The agents' data, which outlives their sandboxes: path below `/data` to text. */
  readonly data: Map<string, Map<string, string>>
  readonly watchers: Set<(end: SandboxEnd) => void>
  /** Listeners that a test calls to simulate an engine that is available again. */
  readonly backWatchers: Set<() => void>
}

export interface FakeSandbox {
  readonly spec: SandboxSpec
  readonly state: SandboxState
  readonly log: string
  /** The current limit of its processor use. */
  readonly cpu: SandboxSpec['cpu']
}

export interface FakeRuntimeOptions {
  readonly engine: FakeEngine
  /** Results of `tryRung`; all isolation levels are available if omitted. */
  readonly rungs?: (rung: IsolationRung) => RungTrial
  /** Results of `checkIsolation`; every check passes if omitted. */
  readonly walls?: () => readonly WallReport[]
  /** Called before a sandbox starts; throwing makes the start fail. */
  readonly beforeStart?: (spec: SandboxSpec) => Promise<void> | void
  /** The address of the fake agent of the test. */
  readonly addressOf?: (spec: SandboxSpec) => { readonly host: string; readonly port: number }
}

export function createFakeEngine(): FakeEngine {
  return { sandboxes: new Map(), data: new Map(), watchers: new Set(), backWatchers: new Set() }
}

/** Ends a sandbox as if its process had ended. Does nothing if none runs. */
export function endFakeSandbox(engine: FakeEngine, end: SandboxEnd): void {
  const sandbox = engine.sandboxes.get(end.agentId)
  if (!sandbox?.state.running) return
  halt(engine, sandbox, end)
  for (const watcher of engine.watchers) watcher(end)
}

/** ADAPTER of `sandbox-runtime.ts` in memory: no process runs, and a test decides when one ends. */
export function createFakeRuntime(options: FakeRuntimeOptions): SandboxRuntime {
  const { engine } = options
  const listeners = new Set<(end: SandboxEnd) => void>()
  const watcher = (end: SandboxEnd) => {
    for (const listener of listeners) listener(end)
  }
  engine.watchers.add(watcher)
  const shares = createStartShares({ processors: 4, clock: systemClock, log: silentLog })
  const bound = (agentId: string) => {
    const sandbox = engine.sandboxes.get(agentId)
    if (sandbox) engine.sandboxes.set(agentId, { ...sandbox, cpu: sandbox.spec.cpu })
  }

  return {
    kind: 'fake',
    isolates: true,
    crossesMachines: false,
    browsers: null,
    packages: null,
    ownImages: null,
    capacity: () => null,
    beside: () => [],
    listenHost: () => '127.0.0.1',
    meshAddress: () => '127.0.0.1',
    networks: async () => [{ address: '10.64.0.0', prefix: 22, own: true }],
    prepare: async ({ progress }) => progress('The fake sandbox is ready'),
    tryRung: async (rung) => options.rungs?.(rung) ?? { available: true, detail: '', repair: '' },
    checkIsolation: async () =>
      options.walls?.() ?? [{ id: 'fake-wall', holds: true, detail: 'the probe tested nothing' }],

    async start(spec) {
      try {
        seedEntries(spec.files)
        await options.beforeStart?.(spec)
      } catch (cause) {
        throw new SandboxError(
          'sandbox-start-failed',
          `The sandbox of ${spec.agentId} could not be started: ${reasonOf(cause)}\nRepair: ask the test.`,
          { cause },
        )
      }
      const kept = engine.data.get(spec.agentId) ?? new Map<string, string>()
      for (const [path, text] of Object.entries(spec.files)) kept.set(path, text)
      engine.data.set(spec.agentId, kept)
      const address = options.addressOf?.(spec) ?? { host: '127.0.0.1', port: 8400 }
      const state = { agentId: spec.agentId, running: true, address, labels: spec.labels }
      const share = shares.lend(spec.agentId, spec.cpu)
      const log = `started ${spec.agentId}\n`
      engine.sandboxes.set(spec.agentId, { spec, state, log, cpu: share?.cpu ?? spec.cpu })
      share?.begin(async () => bound(spec.agentId))
      return state
    },

    endStartShare: async (agentId) => {
      await shares.of(agentId)?.end()
      bound(agentId)
    },

    async stop(agentId) {
      shares.release(agentId)
      const sandbox = engine.sandboxes.get(agentId)
      if (sandbox?.state.running) halt(engine, sandbox, { agentId, code: 143, outOfMemory: false })
    },

    async remove(agentId, { data }) {
      shares.release(agentId)
      engine.sandboxes.delete(agentId)
      if (data) engine.data.delete(agentId)
    },

    async erase() {
      engine.sandboxes.clear()
      engine.data.clear()
    },

    inspect: async (agentId) => engine.sandboxes.get(agentId)?.state ?? null,
    list: async () => [...engine.sandboxes.values()].map((sandbox) => sandbox.state),
    logs: async (agentId, maxBytes) => lastBytes(engine.sandboxes.get(agentId)?.log ?? '', maxBytes),

    measureUse: async (agentIds) =>
      new Map(
        agentIds.flatMap((agentId) => {
          const sandbox = engine.sandboxes.get(agentId)
          const use = { memoryBytes: 1024, memoryLimitBytes: null, cpuSeconds: 0 }
          return sandbox?.state.running === true ? [[agentId, use] as const] : []
        }),
      ),

    dataBound: () => ({ kind: 'meter', why: 'nothing bounds a fake' }),
    measureData: async (agentIds) =>
      new Map(
        agentIds.flatMap((agentId) => {
          const kept = engine.data.get(agentId)
          return kept ? [[agentId, useOf(kept)] as const] : []
        }),
      ),

    readData: async (agentId) => {
      const kept = engine.data.get(agentId)
      if (!kept) return null
      const owner = { uid: 1000, mode: 0o600 }
      const files = [...kept].map(([path, text]) => tarFile(path, Buffer.from(text), owner))
      return { tar: tarArchive(files), held: () => true, leave: async () => {} }
    },
    async writeData(agentId, tar) {
      if (engine.data.has(agentId)) throw dataThere(agentId)
      const bytes = Buffer.concat(await Array.fromAsync(tar))
      const kept = new Map<string, string>()
      for (let at = 0; at + 512 <= bytes.length && bytes[at] !== 0;) {
        const name = bytes.toString('utf8', at, bytes.indexOf(0, at))
        const size = Number.parseInt(bytes.toString('latin1', at + 124, at + 135), 8)
        kept.set(name, bytes.toString('utf8', at + 512, at + 512 + size))
        at += 512 + Math.ceil(size / 512) * 512
      }
      engine.data.set(agentId, kept)
    },

    onEngineBack(listener) {
      engine.backWatchers.add(listener)
      return () => engine.backWatchers.delete(listener)
    },

    onEnd(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    async close() {
      engine.watchers.delete(watcher)
      await shares.close()
    },
  }
}

function halt(engine: FakeEngine, sandbox: FakeSandbox, end: SandboxEnd): void {
  const { agentId, labels } = sandbox.state
  const exit = { code: end.code, outOfMemory: end.outOfMemory }
  engine.sandboxes.set(agentId, { ...sandbox, state: { agentId, running: false, labels, exit } })
}

function useOf(kept: ReadonlyMap<string, string>): DataUse {
  const bytes = [...kept.values()].reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  return { bytes, files: kept.size, complete: true }
}

function lastBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text)
  return bytes.subarray(Math.max(0, bytes.length - maxBytes)).toString('utf8')
}
