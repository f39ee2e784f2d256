import { createManualClock } from '../../protocol/src/testing/manual-clock.ts'
import type { ManualClock } from '../../protocol/src/testing/manual-clock.ts'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AgentStatus } from '@flotilla/protocol/agent-api'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import { permissionFileSchema } from '@flotilla/protocol/permission-record'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { Problem } from '@flotilla/protocol/problem'
import { createEventBus } from '../../foundation/src/events/create-event-bus.ts'
import { createHeldBytes } from '../../foundation/src/intake/held-bytes.ts'
import type { JournalEntry } from '../../foundation/src/journal/journal.ts'
import { silentLog } from '../../foundation/src/platform/log.ts'
import type { Guard } from '../../identity/src/access/action.ts'
import type { Caller } from '../../identity/src/access/caller.ts'
import type {
  DataUse,
  SandboxEnd,
  SandboxRuntime,
  SandboxState,
} from '../../fleet/src/sandbox/sandbox-runtime.ts'
import type { SandboxSpec } from '../../fleet/src/sandbox/sandbox-spec.ts'
import { openDatabase } from '../../foundation/src/storage/database.ts'
import type { Database } from '../../foundation/src/storage/database.ts'
import { allMigrations } from '../../foundation/src/storage/migrations/all-migrations.ts'
import { migrate } from '../../foundation/src/storage/migrate.ts'
import { createFleet } from '../../fleet/src/agents/fleet.ts'
import type { Fleet, FleetDeps } from '../../fleet/src/agents/fleet.ts'
import { createMeshIdentity } from '../../fleet/src/agents/connection/mesh-identity.ts'
import { agentShareLimits } from '../../foundation/src/intake/index.ts'
import { createFleetEvents } from '../../fleet/src/events/index.ts'

/** A fleet for tests: real tables, files and HTTP on loopback; engine, time and policy are fakes. */

export const owner: Caller = { kind: 'human', role: 'owner', channel: 'cli' }

/** Sleeps up to this length (pauses of polls) pass by themselves; longer ones wait for `advance`, milliseconds. */
const pollsMs = 500

interface ManualSandbox {
  spec: SandboxSpec
  server: Server | null
  port: number
  exit: { code: number; outOfMemory: boolean } | null
}

/** An engine whose sandboxes are servers on loopback that answer `/healthz`. */
export interface ManualRuntime extends SandboxRuntime {
  readonly started: SandboxSpec[]
  /** The agent token that each start received. */
  readonly doorTokens: string[]
  readonly removed: { agentId: string; data: boolean }[]
  /** Agents whose sandbox was limited to its usual CPU share, each time. */
  readonly held: string[]
  /**
   * Called before a sandbox is limited to its usual CPU share; a rejection simulates an engine that cannot do it.
   */
  beforeHold: (agentId: string) => Promise<void>
  /** Agents whose process runs and does not answer. */
  readonly mute: Set<string>
  /** The measured data of agents. */
  readonly uses: Map<string, DataUse>
  /** The agents of each measurement. */
  readonly measured: string[][]
  /** Warnings that each start returns with the state. */
  warnings: readonly string[]
  /** Called in `start`, before the process runs; a rejection is a failed start. */
  beforeStart: (spec: SandboxSpec) => Promise<void>
  /** Makes the process end by itself. */
  kill(agentId: string, code: number): Promise<void>
  /** Simulates an end reported by the engine, whatever runs now. */
  reportEnd(agentId: string, code: number, outOfMemory?: boolean): void
  /** Simulates that the engine was unavailable and is back. */
  comeBack(): void
  /** Adds a sandbox that the fleet did not start. */
  plant(spec: SandboxSpec): Promise<void>
  isRunning(agentId: string): boolean
}

export function createManualRuntime(): ManualRuntime {
  const sandboxes = new Map<string, ManualSandbox>()
  const listeners = new Set<(end: SandboxEnd) => void>()
  const backListeners = new Set<() => void>()
  const mute = new Set<string>()

  async function run(spec: SandboxSpec): Promise<void> {
    await close(sandboxes.get(spec.agentId))
    const doorToken = readDoorToken(spec)
    const server = createServer((request, response) => {
      const well = !mute.has(spec.agentId)
      const isStatus = request.url === '/status'
      // The mesh's own signature is not one of the tokens that this harness issues.
      const shown = request.headers.authorization ?? ''
      const isSigned = !shown.startsWith('Bearer token-')
      const known = !isStatus || isSigned || shown === `Bearer ${doorToken}`
      response.writeHead(well ? (known ? 200 : 401) : 503, { 'content-type': 'application/json' })
      response.end(JSON.stringify(!well ? {} : isStatus ? idleStatus(spec.agentId) : { status: 'ok' }))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const port = typeof address === 'object' && address ? address.port : 0
    sandboxes.set(spec.agentId, { spec, server, port, exit: null })
  }

  function stateOf(sandbox: ManualSandbox): SandboxState {
    return {
      agentId: sandbox.spec.agentId,
      running: sandbox.server !== null,
      labels: sandbox.spec.labels,
      ...(sandbox.server ? { address: { host: '127.0.0.1', port: sandbox.port } } : {}),
      ...(sandbox.exit ? { exit: sandbox.exit } : {}),
    }
  }

  const runtime: ManualRuntime = {
    kind: 'fake',
    isolates: false,
    crossesMachines: false,
    browsers: null,
    packages: null,
    ownImages: null,
    capacity: () => null,
    beside: () => [],
    readData: async () => null,
    writeData: async () => {},
    started: [],
    doorTokens: [],
    removed: [],
    uses: new Map(),
    measured: [],
    warnings: [],
    mute,
    held: [],
    beforeHold: async () => {},
    beforeStart: async () => {},
    listenHost: () => '127.0.0.1',
    meshAddress: () => '127.0.0.1',
    networks: async () => [],
    prepare: async () => {},
    checkIsolation: async () => [],
    tryRung: async () => ({ available: true, detail: '', repair: '' }),
    start: async (spec) => {
      runtime.started.push(spec)
      runtime.doorTokens.push(readDoorToken(spec))
      await close(sandboxes.get(spec.agentId))
      await runtime.beforeStart(spec)
      await run(spec)
      return { ...stateOf(sandboxes.get(spec.agentId)!), warnings: runtime.warnings }
    },
    endStartShare: async (agentId) => {
      await runtime.beforeHold(agentId)
      runtime.held.push(agentId)
    },
    stop: async (agentId) => {
      const sandbox = sandboxes.get(agentId)
      await close(sandbox)
    },
    remove: async (agentId, { data }) => {
      runtime.removed.push({ agentId, data })
      await close(sandboxes.get(agentId))
      sandboxes.delete(agentId)
    },
    inspect: async (agentId) => {
      const sandbox = sandboxes.get(agentId)
      return sandbox ? stateOf(sandbox) : null
    },
    list: async () => [...sandboxes.values()].map(stateOf),
    logs: async () => 'boot\n\u001B[31mno such model\u001B[0m\n',
    dataBound: () => ({ kind: 'meter', why: 'nothing bounds a fake' }),
    measureUse: async () => new Map(),
    measureData: async (agentIds) => {
      runtime.measured.push([...agentIds])
      return new Map([...runtime.uses].filter(([agentId]) => agentIds.includes(agentId)))
    },
    onEngineBack: (listener) => {
      backListeners.add(listener)
      return () => backListeners.delete(listener)
    },
    onEnd: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: async () => {
      for (const sandbox of sandboxes.values()) await close(sandbox)
    },
    erase: async () => {
      for (const sandbox of sandboxes.values()) await close(sandbox)
      sandboxes.clear()
    },
    kill: async (agentId, code) => {
      const sandbox = sandboxes.get(agentId)
      await close(sandbox)
      if (sandbox) sandbox.exit = { code, outOfMemory: false }
      runtime.reportEnd(agentId, code)
    },
    reportEnd: (agentId, code, outOfMemory = false) => {
      for (const listener of listeners) listener({ agentId, code, outOfMemory })
    },
    comeBack: () => {
      for (const listener of backListeners) listener()
    },
    plant: run,
    isRunning: (agentId) => (sandboxes.get(agentId)?.server ?? null) !== null,
  }
  return runtime
}

/** Returns the agent token; empty for a sandbox that was planted, since only a start writes one. */
function readDoorToken(spec: SandboxSpec): string {
  const path = join(spec.briefingDirectory, 'door-token')
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}

function idleStatus(agentId: string): AgentStatus {
  return {
    agent_id: agentId,
    role: '',
    state: 'idle',
    current: null,
    capabilities: [],
    uptime_seconds: 0,
    tasks_completed: 0,
    tasks_failed: 0,
    has_checkpoint: false,
  }
}

async function close(sandbox: ManualSandbox | undefined): Promise<void> {
  const server = sandbox?.server
  if (!sandbox || !server) return
  sandbox.server = null
  server.closeAllConnections()
  await new Promise<void>((resolve) => server.close(() => resolve()))
}

export interface FleetHarness {
  readonly fleet: Fleet
  readonly runtime: ManualRuntime
  readonly clock: ManualClock
  readonly database: Database
  /** All events except state changes of agents. */
  readonly events: FleetEventBody[]
  /** State changes of agents: `w running`. */
  readonly moves: string[]
  readonly journal: JournalEntry[]
  readonly grants: Map<string, Partial<PermissionRecord>>
  readonly deps: FleetDeps
  /** Starts a mesh on the state that the last one left. */
  again(): Fleet
  close(): Promise<void>
}

/** Agents may manage nothing, people everything. */
const guard: Guard = (caller, action) => {
  const manages = action.do === 'manage-fleet' || action.do === 'manage-agent'
  if (caller.kind === 'agent' && manages) throw new Problem('denied')
}

export async function aFleet(changes: Partial<FleetDeps> = {}): Promise<FleetHarness> {
  const database = openDatabase(':memory:')
  migrate(database, allMigrations)
  const clock = createManualClock(1_000_000, { passesMs: pollsMs })
  const runtime = createManualRuntime()
  const events: FleetEventBody[] = []
  const bus = createEventBus({ database, clock, log: silentLog })
  const moves: string[] = []
  bus.subscribe(({ body }) => {
    if (body.type === 'agent.changed') moves.push(`${body.agent_id} ${body.to}`)
    else events.push(body)
  })
  const journal: JournalEntry[] = []
  const grants = new Map<string, Partial<PermissionRecord>>()
  let count = 0
  const deps: FleetDeps = {
    database,
    clock,
    newId: (prefix) => `${prefix}_${++count}`,
    randomToken: () => `token-${++count}`,
    log: silentLog,
    guard,
    decide: () => ({ allowed: true }),
    permissionsOf: (agentId) =>
      permissionFileSchema.parse({ permissions: Object.fromEntries(grants) }).permissions[agentId] ?? null,
    grants: {
      grantDefaults: (agentId, { overrides }) => void grants.set(agentId, overrides),
      revokeAll: (agentId) => void grants.delete(agentId),
      aboveOperatorCeiling: (overrides) =>
        overrides['can_spawn'] ? 'only a person can grant this permission' : null,
    },
    journal: { append: (entry) => void journal.push(entry) },
    events: bus,
    runtime,
    briefsFolder: await mkdtemp(join(tmpdir(), 'flotilla-briefs-')),
    locksFolder: await mkdtemp(join(tmpdir(), 'flotilla-locks-')),
    ports: { people: 8420, agentApi: 8420, proxy: 8421, open: [] },
    replies: {
      held: createHeldBytes(agentShareLimits.heldBytes),
      downloads: createHeldBytes(agentShareLimits.downloadBytes),
      loop: { waitMs: () => 0, spend: (_agentId, work) => work() },
    },
    meshIdentity: createMeshIdentity({ secret: 'a secret of this test', clock }),
    defaultModel: () => 'scripted/demo',
    missingModel: async () => 'there is one',
    requireModel: () => {},
    loopLimits: { FLOTILLA_MAX_ITERATIONS: '20' },
    sizeSettings: () => ({}),
    imageSetting: () => undefined,
    dataLimitBytes: () => 100 * 1024 * 1024,
    projectText: () => '',
    restartsPerHour: () => 3,
    hibernateAfterMs: () => null,
    feedbackFor: () => [],
    isolation: { hold: () => true },
    placing: {
      wishOf: () => ({ wanted: 'container', floor: 'container' }),
      place: async ({ wanted }) => ({ rung: wanted, fallback: null }),
      lacking: () => null,
      doubt: () => {},
      adopted: () => {},
    },
    fleetEvents: createFleetEvents(silentLog),
    ...changes,
  }
  const fleets = [createFleet(deps)]
  return {
    fleet: fleets[0]!,
    runtime,
    clock,
    database,
    events,
    moves,
    journal,
    grants,
    deps,
    again: () => {
      const next = createFleet(deps)
      fleets.push(next)
      return next
    },
    close: async () => {
      for (const fleet of fleets) await fleet.lifecycle.close()
      await runtime.close()
      database.close()
      await rm(deps.briefsFolder, { recursive: true, force: true })
      await rm(deps.locksFolder, { recursive: true, force: true })
    },
  }
}

/** A fleet with one worker `w`, not started. */
export async function aWorker(changes: Partial<FleetDeps> = {}): Promise<FleetHarness> {
  const harness = await aFleet(changes)
  await harness.fleet.admin.create(owner, { id: 'w', role: 'does work' })
  return harness
}

/** A signal that never aborts. */
export const patient: AbortSignal = new AbortController().signal

/** The state that people see. */
export function stateOf(fleet: Fleet, agentId: string): string {
  return fleet.registry.viewOf(agentId, activityWith(0)).state
}

/** What people see that an agent with this much queued work waits for. */
export function waitOf(fleet: Fleet, agentId: string, queued = 1): string | null {
  return fleet.registry.viewOf(agentId, activityWith(queued)).waits_for
}

function activityWith(queued: number) {
  return () => ({ busy: false, queued, waiting: 0, costTodayUsd: 0, pausedReason: null })
}

/** Returns why the work failed, empty if it did not; called at once, so that no rejection is unhandled. */
export function reasonOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => '',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )
}
