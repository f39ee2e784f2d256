import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import { createReservations } from '../packages/inference/src/spending/reservations.ts'
import type { ReserveWish } from '../packages/inference/src/spending/reservation.ts'
import { createSpendTable } from '../packages/inference/src/spending/spend-table.ts'
import { authorize } from '../packages/identity/src/access/authorize.ts'
import type { Caller } from '../packages/identity/src/access/caller.ts'
import { allMigrations } from '../packages/foundation/src/storage/migrations/all-migrations.ts'
import { openDatabase } from '../packages/foundation/src/storage/database.ts'
import { migrate } from '../packages/foundation/src/storage/migrate.ts'
import { randomId, systemClock } from '../packages/foundation/src/platform/system-clock.ts'
import type { Bench, BenchOptions } from './bench.ts'
import { rotated } from './bench.ts'
import { measureDurableCommits } from './durable-commit.ts'
import { median, pairedRatio } from './statistics.ts'
import { figure, ratio } from './table.ts'
import type { Table } from './table.ts'

const decisions = 200_000
const busyCalls = 5000
const seldomCalls = 200
const parallel = 50

interface Contender {
  readonly name: string
  /** Operations a second. */
  readonly measure: () => Promise<number> | number
}

export const moneyBench: Bench = {
  name: 'money',
  claim: 'what a decision on a permission and a reservation with its settlement cost',
  defaultRuns: 7,
  run: async ({ runs, folder, progress, signal }: BenchOptions) => {
    const contenders = contendersIn(folder)
    const rates = new Map<string, number[]>(contenders.map(({ name }) => [name, []]))
    for (let round = 0; round < runs && !signal.aborted; round += 1) {
      progress(`round ${round + 1} of ${runs}`)
      for (const { name, measure } of rotated(contenders, round)) rates.get(name)?.push(await measure())
    }
    return { tables: tablesOf(rates), figures: { perSecond: Object.fromEntries(rates) } }
  },
}

const floors = { decision: 'a look-up in a Map', commit: 'one row, durable (bare SQLite)' } as const
const decision = 'authorize: a message, 50 agents'
const keyDecision = 'authorize: a blackboard key, 5 globs'
const seldom = 'reserve + settle, one after the other'
const atOnce = `reserve + settle, ${parallel} at once`
const busy = 'reserve + settle, a busy run with a hold'

function contendersIn(folder: string): readonly Contender[] {
  let files = 0
  const nextFolder = () => join(folder, `money-${files++}.db`)
  return [
    { name: floors.decision, measure: lookUps },
    { name: decision, measure: () => authorizations({ do: 'message-agent', to: 'agent-49' }) },
    {
      name: keyDecision,
      measure: () => authorizations({ do: 'read-blackboard', key: 'projects/acme/reports/2026/11/21' }),
    },
    { name: floors.commit, measure: () => commits(nextFolder()) },
    {
      name: seldom,
      measure: () => reservations(nextFolder(), { calls: seldomCalls, together: 1, runs: seldomCalls }),
    },
    {
      name: atOnce,
      measure: () => reservations(nextFolder(), { calls: busyCalls, together: parallel, runs: busyCalls }),
    },
    { name: busy, measure: () => reservations(nextFolder(), { calls: busyCalls, together: 1, runs: 1 }) },
  ]
}

function commits(folder: string): number {
  mkdirSync(folder)
  return 1000 / median(measureDurableCommits(folder))
}

const records = new Map(
  Array.from({ length: 50 }, (_, index) => [
    `agent-${index}`,
    permissionRecordSchema.parse({
      can_message: Array.from({ length: 50 }, (__, other) => `agent-${other}`),
      allowed_apis: ['llm', 'http'],
      blackboard_read: ['own/**', 'shared/*', 'facts/*/one', 'projects/*/notes/**', 'projects/acme/**'],
    }),
  ]),
)
const caller: Caller = { kind: 'agent', agentId: 'agent-7', token: 'door', run: null }
/** The project to which all keys of the measured actions belong. */
const acme = { name: 'acme', archived: false } as const
const snapshot = {
  broken: null,
  recordOf: (agentId: string) => records.get(agentId),
  projectOf: () => acme,
}

function perSecond(operations: number, work: () => void): number {
  const startedAt = performance.now()
  for (let one = 0; one < operations; one++) work()
  return (operations * 1000) / (performance.now() - startedAt)
}

function lookUps(): number {
  let found = 0
  return (
    perSecond(decisions, () => {
      if (records.has('agent-7')) found++
    }) * Math.sign(found)
  )
}

function authorizations(action: Parameters<typeof authorize>[2]): number {
  let allowed = 0
  const rate = perSecond(decisions, () => {
    if (authorize(snapshot, caller, action).allowed) allowed++
  })
  if (allowed !== decisions) throw new Error('the decision is not the one that is measured')
  return rate
}

/**
 * Measures reservations with every limit in use: agent, project, fleet, run and task. With more runs than calls, no
 * call finds an earlier reservation of its run.
 */
async function reservations(
  path: string,
  { calls, together, runs }: { readonly calls: number; readonly together: number; readonly runs: number },
): Promise<number> {
  const database = openDatabase(path)
  migrate(database, allMigrations)
  const life = new AbortController()
  const spending = createReservations({
    database,
    spend: createSpendTable(database),
    clock: systemClock,
    newId: randomId,
    life: randomId('life'),
    stopped: life.signal,
    treeOf: (runId) => [runId],
    budgetOf: () => ({
      daily_usd: 1000,
      monthly_usd: 30_000,
      project: { name: 'acme', daily_usd: 1000, monthly_usd: 30_000 },
      fleet: { daily_usd: 1000, monthly_usd: 30_000 },
      task: { max_usd: 1000, max_calls: 1_000_000 },
    }),
    addRunCost: () => {},
  })
  const wish = (call: number): ReserveWish => ({
    agentId: 'scout',
    run: { runId: `run_${call % runs}`, budgetUsd: null, taskId: 'task_1' },
    model: 'm/one',
    promptTokens: 1000,
    promptNano: 100_000,
    outputNanoPerToken: 100,
    answers: 1,
    maxTokens: 500,
  })
  try {
    const startedAt = performance.now()
    for (let call = 0; call < calls; call += together) {
      await Promise.all(
        Array.from({ length: together }, async (_, index) => {
          const reservation = await spending.reserve(wish(call + index))
          spending.settle(reservation, { costNano: 120_000, promptTokens: 900, completionTokens: 300 })
        }),
      )
    }
    spending.flush()
    return (calls * 1000) / (performance.now() - startedAt)
  } finally {
    life.abort(new Error('measured'))
    database.close()
  }
}

function tablesOf(rates: ReadonlyMap<string, readonly number[]>): readonly Table[] {
  const table = (title: string, names: readonly string[], notes: readonly string[]): Table => {
    const floor = rates.get(names[0] ?? '') ?? []
    return {
      title,
      columns: ['', 'a second', 'of the floor'],
      rows: names.map((name) => {
        const measured = rates.get(name) ?? []
        return [name, figure(median(measured), 0), ratio(pairedRatio(measured, floor))]
      }),
      notes,
    }
  }
  return [
    table('Decisions on permissions', [floors.decision, decision, keyDecision], []),
    table(
      'Reservations with their settlements',
      [floors.commit, seldom, atOnce, busy],
      [
        'Each counts in all limits: agent, project, fleet (day and month of each), run and task; written rows, sums and reports are in the time.',
        'One after the other, each call waits for the disk before it leaves; at once, calls share a commit; a busy run takes from money that was set aside ahead.',
      ],
    ),
  ]
}
