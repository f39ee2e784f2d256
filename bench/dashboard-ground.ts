import { join } from 'node:path'
import { openDatabase } from '../packages/foundation/src/storage/database.ts'
import { aCassette, says } from '../tests/support/cassettes.ts'
import { startMesh } from '../tests/support/mesh-process.ts'
import type { MeshProcess } from '../tests/support/mesh-process.ts'

const spanMs = 14 * 24 * 3600_000

/**
 * Starts a real mesh with this many hibernated agents and runs: one run was executed, the others are copies of its
 * row.
 */
export async function startSeededMesh(counts: {
  readonly agents: number
  readonly runs: number
  readonly progress: (step: string) => void
}): Promise<MeshProcess> {
  const { agents, runs, progress } = counts
  const mesh = await startMesh({
    cassettes: { seeded: aCassette({ when: '.', turns: [says('Well.')] }) },
    environment: { FLOTILLA_LOG_LEVEL: 'error' },
  })
  try {
    progress(`making ${agents} agents`)
    const ids = Array.from({ length: agents }, (_, number) => `agent-${String(number).padStart(3, '0')}`)
    for (const id of ids) await mesh.createWorker(id, { role: `Looks after part ${id} of the house.` })
    const { id } = await mesh.ask('How is the house?', { agent: ids[0] ?? '' })
    await mesh.terminate()
    progress(`writing ${runs} runs`)
    copyRuns(join(mesh.home, 'data', 'mesh.db'), { of: id, agents: ids, runs })
    await mesh.restart()
    return mesh
  } catch (error) {
    await mesh.stop()
    throw error
  }
}

/** Copies one row of `runs` this many times, with other ids, spread over the last two weeks. */
export function copyRuns(
  path: string,
  { of, agents, runs }: { readonly of: string; readonly agents: readonly string[]; readonly runs: number },
): void {
  const database = openDatabase(path)
  try {
    const row = database.prepare('SELECT * FROM runs WHERE id = ?').get(of)
    if (!row) throw new Error('the run that is copied is not there')
    // Columns that the database fills in are left to it.
    const generated = new Set(['position', 'idempotency_scope', 'idempotency_key'])
    const columns = Object.keys(row).filter((name) => !generated.has(name))
    const insert = database.prepare(
      `INSERT INTO runs (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
    )
    const now = Date.now()
    database.transaction(() => {
      for (let number = 0; number < runs; number++) {
        const at = now - Math.floor((spanMs * (runs - number)) / runs)
        const other: Record<string, unknown> = {
          ...row,
          id: `run_${number.toString(36).padStart(20, '0')}`,
          trace_id: number.toString(16).padStart(32, '0'),
          agent_id: agents[number % agents.length],
          created_at: at,
          queued_since: at,
          available_at: at,
          started_at: at + 5,
          turn_started_at: at + 5,
          ended_at: at + 2000 + (number % 900),
          cost_usd: (number % 50) / 1000,
          tokens_used: number % 4000,
        }
        insert.run(...columns.map((name) => other[name] as string | number | null))
      }
    })
  } finally {
    database.close()
  }
}
