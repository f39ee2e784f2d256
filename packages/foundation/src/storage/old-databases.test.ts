import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../platform/system-clock.ts'
import { aLedgerHarness } from '../../../testing/src/ledger-harness.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { allMigrations } from './migrations/all-migrations.ts'
import { openStorage } from './open-storage.ts'

/**
 * Databases that meshes of earlier commits wrote, made by `scripts/write-old-database.ts`: one for each released
 * schema.
 */
const folder = join(import.meta.dirname, '..', '..', '..', '..', 'tests', 'support', 'old-databases')
/**
 * How many schema steps may be added before a sample database must be written: `node scripts/write-old-database.ts
 * COMMIT`.
 */
const stepsBehindMax = 3
const names = readdirSync(folder).filter((name) => name.endsWith('.db.gz'))

describe('a database that an earlier release wrote', () => {
  test('a database that an earlier release wrote is kept for the newest steps of the schema, and for the first release', () => {
    const counts = names.map((name) => Number(name.split('-', 1)[0])).toSorted((one, other) => one - other)
    expect(counts[0]).toBe(1)
    expect(allMigrations.length - (counts.at(-1) ?? 0)).toBeLessThanOrEqual(stepsBehindMax)
  })

  test.each(names)(
    '%s is brought up to date, whole, with a snapshot from before, and works',
    async (name) => {
      const place = mkdtempSync(join(tmpdir(), 'flotilla-old-database-'))
      try {
        const path = join(place, 'mesh.db')
        writeFileSync(path, gunzipSync(readFileSync(join(folder, name))))
        const { database } = openStorage({
          path,
          folder: place,
          clock: systemClock,
          onEffectError: (error) => {
            throw error
          },
        })
        try {
          const one = (sql: string) => Object.values(database.prepare(sql).get() ?? {})[0]
          expect(one('SELECT count(*) FROM schema_steps')).toBe(allMigrations.length)
          expect(one('PRAGMA integrity_check')).toBe('ok')
          expect(database.prepare('PRAGMA foreign_key_check').all()).toEqual([])
          const steps = Number(name.split('-', 1)[0])
          const snapshots = readdirSync(place).filter((one_) => /\.before-\d+$/.test(one_))
          expect(snapshots.length).toBe(steps < allMigrations.length ? 1 : 0)
          // Current code reads its rows, and new rows can be added.
          const before = Number(one('SELECT count(*) FROM runs'))
          expect(before).toBeGreaterThan(0)
          const clock = createManualClock()
          const harness = aLedgerHarness({ database, clock })
          const runs = harness.ledger.queries.list({ limit: 100 })
          expect(runs.length).toBe(before)
          expect(runs.map((run) => harness.ledger.queries.view(run).id)).toContain(runs[0]?.id)
          harness.chat('worker')
          expect(harness.ledger.queries.list({ limit: 100 }).length).toBe(before + 1)
        } finally {
          database.close()
        }
        expect(existsSync(path)).toBe(true)
      } finally {
        rmSync(place, { recursive: true, force: true })
      }
    },
  )
})
