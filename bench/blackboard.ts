import { join } from 'node:path'
import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import { Problem } from '@flotilla/protocol/problem'
import { authorize } from '../packages/identity/src/access/authorize.ts'
import type { Action } from '../packages/identity/src/access/action.ts'
import type { Caller } from '../packages/identity/src/access/caller.ts'
import { createBlackboard } from '../packages/collaboration/src/blackboard/blackboard.ts'
import { createEventBus } from '../packages/foundation/src/events/create-event-bus.ts'
import { createJournal } from '../packages/foundation/src/journal/journal-table.ts'
import { silentLog } from '../packages/foundation/src/platform/log.ts'
import { systemClock } from '../packages/foundation/src/platform/system-clock.ts'
import { openDatabase } from '../packages/foundation/src/storage/database.ts'
import { migrate } from '../packages/foundation/src/storage/migrate.ts'
import { allMigrations } from '../packages/foundation/src/storage/migrations/all-migrations.ts'
import type { Bench } from './bench.ts'
import { rotated } from './bench.ts'
import { median, pairedRatio } from './statistics.ts'
import { figure, ratio } from './table.ts'
import { ownLoop } from '../packages/testing/src/own-loop.ts'

const writes = 1000
/** Number of keys that are rewritten repeatedly, as agents do with the state of their work. */
const keys = 100
/** Number of entries on the board before the first write. */
const entries = 5000
const value = { state: 'working', done: 12, of: 40, note: 'the licence files are read, two are missing' }
const names = {
  bare: 'a bare durable transaction of one row',
  three: 'the same with three rows in three tables',
  ours: 'a write to the blackboard',
  claim: 'a claim with the version that must be',
} as const
type Name = (typeof names)[keyof typeof names]

export const blackboardBench: Bench = {
  name: 'blackboard',
  claim: `${writes} writes to a blackboard of ${entries} entries, against bare transactions on the same disk`,
  defaultRuns: 9,
  run: async ({ runs, folder, progress, signal }) => {
    const measures: Record<Name, (path: string) => number> = {
      [names.bare]: (path) => bare(path, 1),
      [names.three]: (path) => bare(path, 3),
      [names.ours]: (path) => ours(path, () => undefined),
      [names.claim]: (path) => ours(path, (round) => round),
    }
    const all = new Map<Name, number[]>(Object.values(names).map((name) => [name, []]))
    for (let round = 0; round < runs && !signal.aborted; round += 1) {
      progress(`round ${round + 1} of ${runs}`)
      for (const name of rotated(Object.values(names), round)) {
        all.get(name)?.push(measures[name](join(folder, `${round}-${Object.values(names).indexOf(name)}.db`)))
      }
    }
    const floor = all.get(names.bare) ?? []
    return {
      tables: [
        {
          title: 'Blackboard: durable writes, one after the other',
          columns: ['', 'a second', 'of the bare transaction'],
          rows: [...all].map(([name, rates]) => [
            name,
            figure(median(rates), 0),
            ratio(pairedRatio(rates, floor)),
          ]),
          notes: [
            'A write is decided by the permission record, and written with its version, its journal record (chained by hashes) and its event in one transaction that would survive a power cut.',
          ],
        },
      ],
      figures: Object.fromEntries(all),
    }
  },
}

/** Measures writes a second. */
function bare(path: string, tables: number): number {
  const database = openDatabase(path)
  try {
    const made = Array.from({ length: tables }, (_, table) => {
      database.exec(`CREATE TABLE entry${table} (key TEXT, text TEXT)`)
      return database.prepare(`INSERT INTO entry${table} VALUES (?, ?)`)
    })
    return perSecond((one) =>
      database.transaction(() => {
        for (const insert of made) insert.run(`output/${one % keys}`, JSON.stringify(value))
      }),
    )
  } finally {
    database.close()
  }
}

const caller: Caller = { kind: 'agent', agentId: 'scout', token: 'door', run: null }
const record = permissionRecordSchema.parse({ blackboard_write: ['tasks/**', 'status/*', 'output/**'] })
const rules = { broken: null, recordOf: () => record }
const decide = (who: Caller, action: Action) => authorize(rules, who, action)

/**
 * Measures writes a second. `versionOf` gives the version that a write expects, by how often its key was written.
 */
function ours(path: string, versionOf: (round: number) => number | undefined): number {
  const database = openDatabase(path)
  migrate(database, allMigrations)
  const deps = { database, clock: systemClock }
  const board = createBlackboard({
    loop: ownLoop(),
    ...deps,
    decide,
    guard: (who, action) => {
      if (!decide(who, action).allowed) throw new Problem('denied')
    },
    journal: createJournal(deps),
    events: createEventBus({ ...deps, log: silentLog }),
  })
  try {
    database.transaction(() => {
      for (let one = 0; one < entries; one++) board.write(caller, { key: `output/kept/${one}`, value })
    })
    return perSecond((one) => {
      const expectedVersion = versionOf(Math.floor(one / keys))
      board.write(caller, { key: `output/${one % keys}`, value, expectedVersion })
    })
  } finally {
    database.close()
  }
}

function perSecond(write: (one: number) => void): number {
  const startedAt = performance.now()
  for (let one = 0; one < writes; one++) write(one)
  return (writes * 1000) / (performance.now() - startedAt)
}
