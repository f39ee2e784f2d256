import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { openLedger } from '../support/ledger-view.ts'
import type { LedgerView } from '../support/ledger-view.ts'
import type { Notes } from './open-notes.ts'
import type { Stage } from './stage.ts'
import type { MeshInstance } from './supervise-mesh.ts'

const lookEveryMs = 2_000
/** Longest wait for an agent's log, milliseconds; an API server that is halted does not answer. */
const logMaxMs = 10_000
/** Most lines of each kind that are noted with a failure. */
const linesMax = 40
/** Last processes of the mesh whose lines are searched for a run. */
const livesMax = 3

type Watched = Pick<Stage, 'home' | 'ground'> & {
  readonly supervisor: { readonly instances: readonly MeshInstance[] }
}

/**
 * Notes each failed run while its reason can still be found, with the lines of the journal, the mesh and the agent.
 * A pod that has been deleted has no log any more.
 */
export function watchFailures(stage: Watched, notes: Notes) {
  const seen = new Set<string>()

  async function look(): Promise<void> {
    const ledger = openLedger(stage.home)
    try {
      for (const row of ledger.rows("SELECT id, agent_id, outcome FROM runs WHERE state = 'failed'")) {
        const [id, agent] = [String(row['id']), String(row['agent_id'])]
        if (seen.has(id)) continue
        seen.add(id)
        notes.put({
          what: `${id} of ${agent} failed: ${String(row['outcome'])}`,
          evidence: {
            journal: journalOf(ledger, id),
            mesh: meshLinesOf(stage.supervisor.instances, { id, agent }),
            agent: await agentLinesOf(stage, agent),
          },
        })
      }
    } finally {
      ledger.close()
    }
  }

  return {
    look,
    /** Looks until the signal. If the ledger cannot be read now, the next look reads it. */
    async watch(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        await look().catch(() => undefined)
        await sleep(lookEveryMs, null, { signal }).catch(() => null)
      }
    },
  }
}

function journalOf(ledger: LedgerView, id: string): string[] {
  const sql = `SELECT * FROM journal WHERE subject = ? OR instr(detail, ?) > 0 ORDER BY seq DESC LIMIT ${linesMax}`
  return ledger.rows(sql, id, id).map((row) => JSON.stringify(row))
}

function meshLinesOf(
  instances: readonly MeshInstance[],
  of: { readonly id: string; readonly agent: string },
): string[] {
  return instances
    .slice(-livesMax)
    .flatMap(({ number, lines }) => lines.map(({ said }) => ({ number, said, text: JSON.stringify(said) })))
    .filter(({ said, text }) => said['agentId'] === of.agent || text.includes(of.id))
    .map(({ number, text }) => `instance ${number} ${text}`)
    .slice(-linesMax)
}

async function agentLinesOf({ ground }: Watched, agent: string): Promise<readonly string[]> {
  try {
    const late = AbortSignal.timeout(logMaxMs)
    const text = await Promise.race([
      ground.agentLog(agent),
      once(late, 'abort').then(() => Promise.reject(new Error(`nobody answered in ${logMaxMs} ms`))),
    ])
    return text
      .split('\n')
      .filter((line) => line !== '')
      .slice(-linesMax)
  } catch (error) {
    return [`its log cannot be read: ${error instanceof Error ? error.message : String(error)}`]
  }
}
