import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { createManualClock } from '../../protocol/src/testing/manual-clock.ts'
import { openDatabase } from '../../foundation/src/storage/database.ts'
import type { Database } from '../../foundation/src/storage/database.ts'
import { allMigrations } from '../../foundation/src/storage/migrations/all-migrations.ts'
import { migrate } from '../../foundation/src/storage/migrate.ts'
import { createAnchorFile } from '../../foundation/src/journal/journal-anchors.ts'
import { createJournalSeal } from '../../foundation/src/journal/journal-seal.ts'
import { createJournal } from '../../foundation/src/journal/journal-table.ts'
import { createJournalKeeper } from '../../foundation/src/journal/keep-journal.ts'
import { verifyJournal } from '../../foundation/src/journal/verify-journal.ts'

/** A journal with its keeper, on a database in memory and an anchor file in a folder of its own. */
export async function aJournalHarness(
  options: { keepDays?: number; rowsMax?: number; bareHead?: boolean } = {},
) {
  const folder = await mkdtemp(join(tmpdir(), 'journal-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const path = join(folder, 'anchors.jsonl')
  const clock = createManualClock('2026-11-21T12:00:00Z')
  const database = openDatabase(':memory:')
  migrate(database, allMigrations)
  const seal = createJournalSeal('the secret of the mesh')
  const anchors = createAnchorFile(path)
  const journal = createJournal({ database, clock, seal })
  const bareHead = options.bareHead ?? false
  const heard: string[] = []
  const keeperOfALife = () =>
    createJournalKeeper({
      database,
      journal,
      seal,
      anchors,
      bareHead,
      clock,
      retention: () => ({ keep_days: options.keepDays ?? 365, max_rows: options.rowsMax ?? 1_000_000 }),
      onBroken: (detail) => heard.push(detail),
    })
  const write = (rows: number) => {
    for (let row = 0; row < rows; row++) {
      journal.append({ actor: 'agent:scout', action: 'run.settled', subject: `run_${row}`, detail: { row } })
    }
  }
  const verify = (from: 'base' | 'latest' = 'base') =>
    verifyJournal(database, { seal, anchors, bareHead }, from)
  return {
    clock,
    database,
    seal,
    anchors,
    bareHead,
    journal,
    heard,
    keeper: keeperOfALife(),
    keeperOfALife,
    write,
    verify,
    path,
  }
}

/** Rebuilds the chain like an attacker who knows its format but not the secret. */
export function remade(
  database: Database,
  change: (row: { seq: number; subject: string }) => { seq: number; subject: string },
): void {
  const rows = database.prepare('SELECT * FROM journal ORDER BY seq').all()
  database.exec('DELETE FROM journal; DELETE FROM journal_head')
  const bare = rows.map((row) => ({
    at: Number(row['at']),
    actor: String(row['actor']),
    action: String(row['action']),
    detail: JSON.parse(String(row['detail'])) as Record<string, never>,
    subject: change({ seq: Number(row['seq']), subject: String(row['subject']) }).subject,
  }))
  for (const row of bare) {
    const clock = { now: () => row.at, sleep: () => Promise.resolve() }
    createJournal({ database, clock }).append(row)
  }
}
