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
import { conditionHolds, parseCondition } from '../../inbound/src/triggers/conditions/index.ts'
import { createFileEditor } from '../../foundation/src/config/atomic-file.ts'
import { silentLog } from '../../foundation/src/platform/log.ts'
import type { Guard } from '../../identity/src/access/action.ts'
import type { PersonNow } from '../../identity/src/events/index.ts'
import { authorize } from '../../identity/src/access/authorize.ts'
import type { Caller } from '../../identity/src/access/caller.ts'
import { createManualClock } from '../../protocol/src/testing/manual-clock.ts'
import type { ManualClock } from '../../protocol/src/testing/manual-clock.ts'
import { aLedgerHarness, migrated } from './ledger-harness.ts'
import type { Database } from '../../foundation/src/storage/database.ts'
import { createCron } from '../../inbound/src/triggers/cron/cron.ts'
import type { CronJob, ReadCondition } from '../../inbound/src/triggers/cron/cron-job.ts'
import { createCronTable } from '../../inbound/src/triggers/cron/cron-table.ts'
import type { CronTable } from '../../inbound/src/triggers/cron/cron-table.ts'
import type { CronDeps } from '../../inbound/src/triggers/cron/cron-deps.ts'
import { createCronJobs } from '../../inbound/src/triggers/cron/cron-jobs.ts'
import type { CronJobs } from '../../inbound/src/triggers/cron/cron-jobs.ts'

export const owner: Caller = { kind: 'human', role: 'owner', channel: 'cli' }
export const noSignal = new AbortController().signal

/** A Monday, on a whole minute. */
export const startOfTime = Date.parse('2026-03-02T00:00:00Z')

export interface CronHarnessOptions {
  readonly clock?: ManualClock
  readonly database?: Database
  readonly folder?: string
  readonly newId?: NewId
  readonly parts?: Partial<CronHarnessDeps>
}

/** The dependencies around the jobs; a test can replace them. */
export interface CronHarnessDeps extends Pick<CronDeps, 'fireHeartbeat' | 'pausedReason'> {
  readonly ledger: CronDeps['runs']
  readonly events: CronDeps['kernel']['events']
  readonly toolsOf: CronDeps['agents']['toolsOf']
  readonly readCondition: ReadCondition
}

/** Combines them as the module does: the interface for other modules beside the part that starts jobs. */
export function openCron(deps: CronDeps, jobs: CronJobs) {
  return {
    ...createCron(deps, jobs),
    heartbeatJobs: jobs.heartbeatJobs,
    broken: jobs.broken,
    requireWhole: jobs.file.requireWhole,
    forget: jobs.forget,
  }
}
type OpenCron = ReturnType<typeof openCron>

/** Jobs with a real ledger, real tables and a real file; time, agents and permissions are fakes. */
export async function aCronHarness(options: CronHarnessOptions = {}) {
  const clock = options.clock ?? createManualClock(startOfTime)
  const database = options.database ?? migrated()
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'flotilla-cron-'))
  const records = new Map<string, PermissionRecord>()
  const notes: { agentId: string; message: string; key: string }[] = []
  const archived = new Set<string>()
  const told: FleetEventBody[] = []
  let cron: OpenCron | null = null
  const ledgerHarness = aLedgerHarness({
    clock,
    database,
    ...(options.newId ? { newId: options.newId } : {}),
    onRunSettled: [(run) => cron?.runSettled(run)],
  })
  const decide: CronDeps['kernel']['decide'] = (caller, action) =>
    authorize({ recordOf: (id) => records.get(id), broken: null }, caller, action)
  const guard: Guard = (caller, action) => {
    const decision = decide(caller, action)
    if (!decision.allowed) throw new Problem('denied', { detail: decision.reason })
  }
  const { newId, journal } = ledgerHarness
  const parts: CronHarnessDeps = {
    ledger: ledgerHarness.runs,
    events: {
      publish: (event) => {
        told.push(event)
        return ledgerHarness.events.publish(event)
      },
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
    ...options.parts,
  }
  const { identityEvents, fleetEvents, workEvents } = ledgerHarness
  const people = new Map<string, PersonNow>()
  identityEvents.personOf.subscribe((name) => [people.get(name)].filter((one) => one !== undefined))
  const kernel = {
    database,
    clock,
    newId,
    log: silentLog,
    guard,
    decide,
    journal,
    events: parts.events,
    identityEvents,
    fleetEvents,
    workEvents,
  }
  const path = join(folder, 'cron.json')
  const { readCondition, toolsOf, fireHeartbeat, pausedReason } = parts
  const jobs = await createCronJobs({ ...kernel, path, editor: createFileEditor(), readCondition })
  const requireWorking = (agentId: string) => {
    if (agentId === 'nobody') throw new Problem('unknown-agent', { detail: 'there is no agent nobody' })
    if (archived.has(agentId)) throw new Problem('agent-archived', { detail: `agent ${agentId} is archived` })
  }
  cron = openCron(
    {
      kernel,
      runs: parts.ledger,
      agents: { requireWorking, toolsOf },
      fireHeartbeat,
      pausedReason,
      note: (agentId, message, key) => void notes.push({ agentId, message, key }),
    },
    jobs,
  )
  const room = cron
  const table: CronTable = createCronTable(database)
  return {
    cron: room,
    parts,
    path,
    table,
    clock,
    database,
    folder,
    ledger: ledgerHarness.ledger,
    agents: ledgerHarness.agents,
    notes,
    told,
    archived,
    identityEvents,
    fleetEvents,
    workEvents,
    jobs,
    kernel: { ...kernel, events: ledgerHarness.events },
    /** The content of the people file. */
    people,
    /** Gives an agent a record with these rights. */
    permit: (agentId: string, rights: Partial<PermissionRecord>) =>
      records.set(agentId, permissionRecordSchema.parse(rights)),
    /** Lets time pass and ticks once, as after a pause of that length. */
    tickAfter: async (ms: number) => {
      await clock.leap(ms)
      return room.tick()
    },
    add: (job: Parameters<OpenCron['create']>[1]) => room.create(owner, job, noSignal),
    rows: (jobId: string) => [...table.newest(jobId, 1000)].toReversed(),
    runs: () => [...ledgerHarness.ledger.queries.list({ limit: 10_000 })].toReversed(),
    end: (runId: string) => ledgerHarness.ledger.lifecycle.cancelRun(owner, runId),
    again: async (more: Partial<CronHarnessOptions> = {}) => {
      await ledgerHarness.ledger.close()
      return aCronHarness({
        clock,
        database,
        folder,
        newId: ledgerHarness.newId,
        ...(options.parts ? { parts: options.parts } : {}),
        ...more,
      })
    },
    stop: async () => {
      await ledgerHarness.ledger.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export type CronHarness = Awaited<ReturnType<typeof aCronHarness>>

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

/** Starts a harness that stops with its test. */
export async function startCron(options: CronHarnessOptions = {}): Promise<CronHarness> {
  const harness = await aCronHarness(options)
  onTestFinished(() => harness.stop())
  return harness
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

/** Writes the jobs to the file as a person would. */
export async function writeByHand(harness: CronHarness, jobs: readonly object[]): Promise<void> {
  await writeFile(harness.path, JSON.stringify({ jobs }, null, 2))
}
