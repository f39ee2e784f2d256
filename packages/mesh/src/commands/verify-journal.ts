import { existsSync } from 'node:fs'
import { dataPaths } from '../config/data-paths.ts'
import { verifyJournal as verifyChain } from '../journal/read-journal.ts'
import { openDatabase } from '../storage/database.ts'
import type { CommandContext } from './command-context.ts'

/** Checks the journal's hash chain; works beside a running mesh and without one. */
export async function verifyJournal({ environment, tell }: CommandContext): Promise<number> {
  const { database: path } = dataPaths(environment.home)
  if (!existsSync(path)) {
    tell({ ok: false, rows: 0, detail: `there is no database at ${path}` })
    return 1
  }
  const database = openDatabase(path)
  try {
    const report = verifyChain(database)
    tell({ ...report })
    return report.ok ? 0 : 1
  } finally {
    database.close()
  }
}
