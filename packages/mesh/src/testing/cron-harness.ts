import { mkdtempSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import type { NewId } from '@flotilla/protocol/ids'
import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { Problem } from '@flotilla/protocol/problem'
import { onTestFinished } from 'vitest'
import { conditionHolds } from '../triggers/conditions/condition.ts'
import { parseCondition } from '../triggers/conditions/parse-condition.ts'
import { createFileEditor } from '../config/atomic-file.ts'
import { silentLog } from '../platform/log.ts'
import type { Guard } from '../access/action.ts'
import { authorize } from '../access/authorize.ts'
import type { Caller } from '../access/caller.ts'
import { createHandDrivenClock } from './manual-clock.ts'
import type { HandDrivenClock } from './manual-clock.ts'
import { aLedgerWorld, migrated } from './ledger-harness.ts'
import type { Database } from '../storage/database.ts'
import { createCron } from '../triggers/cron/cron.ts'
import type { Cron } from '../triggers/cron/cron.ts'
import type { CronJob } from '../triggers/cron/cron-job.ts'
import { createCronTable } from '../triggers/cron/cron-table.ts'
import type { CronTable } from '../triggers/cron/cron-table.ts'
import type { CronWorld } from '../triggers/cron/cron-world.ts'

export const owner: Caller = { kind: 'human', channel: 'cli' }
export const noSignal = new AbortController().signal

/** A Monday, on a whole minute. */
export const startOfTime = Date.parse('2026-03-02T00:00:00Z')

export interface PlayedOptions {
  readonly clock?: HandDrivenClock
  readonly database?: Database
  readonly folder?: string
  readonly newId?: NewId
  readonly world?: Partial<CronWorld>
}

/** Jobs over a real ledger, real tables and a real file, with time, agents and permissions played. */
export async function aPlayedCron(options: PlayedOptions = {}) {
  const clock = options.clock ?? createHandDrivenClock(startOfTime)
  const database = options.database ?? migrated()
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'flotilla-cron-'))
  const records = new Map<string, PermissionRecord>()
  const notes: { agentId: string; message: string; key: string }[] = []
  const archived = new Set<string>()
  const told: FleetEventBody[] = []
  let cron: Cron | null = null
  const ledgerWorld = aLedgerWorld({
    clock,
    database,
    ...(options.newId ? { newId: options.newId } : {}),
    onRunSettled: [(run) => cron?.runSettled(run)],
  })
  const decide: CronWorld['decide'] = (caller, action) =>
    authorize({ recordOf: (id) => records.get(id), broken: null }, caller, action)
  const guard: Guard = (caller, action) => {
    const decision = decide(caller, action)
    if (!decision.allowed) throw new Problem('denied', { detail: decision.reason })
  }
  const world: CronWorld = {
    path: join(folder, 'cron.json'),
    editor: createFileEditor(),
    database,
    clock,
    newId: ledgerWorld.newId,
    log: silentLog,
    guard,
    decide,
    journal: ledgerWorld.journal,
    events: {
      publish: (event) => {
        told.push(event)
        return ledgerWorld.events.publish(event)
      },
    },
    ledger: ledgerWorld.ledger,
    requireAgent: (agentId) => {
      if (agentId === 'nobody') throw new Problem('unknown-agent', { detail: 'there is no agent nobody' })
      if (archived.has(agentId))
        throw new Problem('agent-archived', { detail: `agent ${agentId} is archived` })
    },
    toolsOf: async () => [
      {
        name: 'http_request',
        description: 'Asks a place',
        parameters: {
          type: 'object',
          properties: { url: { type: 'string' } },
          required: ['url'],
          additionalProperties: false,
        },
      },
    ],
    readCondition: (text) => {
      const condition = parseCondition(text)
      return (payload) => conditionHolds(condition, payload)
    },
    fireHeartbeat: async () => ({ skipped: 'nothing happened' }),
    pausedReason: () => null,
    note: (agentId, message, key) => void notes.push({ agentId, message, key }),
    ...options.world,
  }
  cron = await createCron(world)
  const room = cron
  const table: CronTable = createCronTable(database)
  return {
    cron: room,
    world,
    table,
    clock,
    database,
    folder,
    ledger: ledgerWorld.ledger,
    agents: ledgerWorld.agents,
    notes,
    told,
    archived,
    /** Gives an agent a record with these rights. */
    permit: (agentId: string, rights: Partial<PermissionRecord>) =>
      records.set(agentId, permissionRecordSchema.parse(rights)),
    /** Lets time pass and ticks once, as after a pause of that length. */
    tickAfter: async (ms: number) => {
      await clock.leap(ms)
      return room.tick()
    },
    add: (job: Parameters<Cron['create']>[1]) => room.create(owner, job, noSignal),
    rows: (jobId: string) => [...table.newest(jobId, 1000)].toReversed(),
    runs: () => [...ledgerWorld.ledger.list({ limit: 10_000 })].toReversed(),
    end: (runId: string) => ledgerWorld.ledger.cancelRun(owner, runId),
    again: async (more: Partial<PlayedOptions> = {}) => {
      await ledgerWorld.ledger.close()
      return aPlayedCron({
        clock,
        database,
        folder,
        newId: ledgerWorld.newId,
        ...(options.world ? { world: options.world } : {}),
        ...more,
      })
    },
    stop: async () => {
      await ledgerWorld.ledger.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export type PlayedCron = Awaited<ReturnType<typeof aPlayedCron>>

export function aJob(changes: Partial<CronJob> = {}): CronJob {
  return {
    id: 'job-1',
    agent: 'clerk',
    schedule: 'every 1m',
    timezone: 'UTC',
    enabled: true,
    suppress_empty: true,
    heartbeat: false,
    message: 'look',
    created_by: 'human:cli',
    created_at: startOfTime,
    ...changes,
  }
}

/** One that is stopped with its test. */
export async function play(options: PlayedOptions = {}): Promise<PlayedCron> {
  const played = await aPlayedCron(options)
  onTestFinished(() => played.stop())
  return played
}

export async function problemOf(work: Promise<unknown> | (() => unknown)): Promise<Problem> {
  try {
    await (typeof work === 'function' ? work() : work)
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
  throw new Error('no problem')
}

/** The jobs as a hand would write them. */
export async function writeByHand(played: PlayedCron, jobs: readonly object[]): Promise<void> {
  await writeFile(played.world.path, JSON.stringify({ jobs }, null, 2))
}
