import type { MeshClient } from '@flotilla/client/mesh-client'
import type { RunView } from '@flotilla/protocol/run'
import { runRows } from '../commands/fleet-rows.ts'
import type { CommandContext } from '../context.ts'
import { formatDuration, formatUsd } from '../terminal/format.ts'

export interface LedgerReport {
  readonly runs: number
  readonly tokens: number
  readonly costUsd: number
  readonly elapsedMs: number
}

/** More runs than a demo creates. */
const runsMax = 200

/** The demo's ledger entries: the job's runs one by one, the attempts as a sum. */
export async function showLedger(
  { terminal, signal }: CommandContext,
  { client, elapsedMs }: { readonly client: MeshClient; readonly elapsedMs: number },
): Promise<LedgerReport> {
  const { runs } = await client.call('runs', { query: { limit: runsMax }, signal })
  const sum = (pick: (run: RunView) => number) => runs.reduce((total, run) => total + pick(run), 0)
  const report = {
    runs: runs.length,
    tokens: sum((run) => run.tokens_used),
    costUsd: sum((run) => run.cost_usd),
    elapsedMs,
  }
  const job = runs.filter((run) => run.kind !== 'tool').toReversed()
  const open = runs.filter((run) => run.outcome === null).length
  terminal.print(
    ...runRows(job),
    '',
    `${report.runs} runs (${runs.length - job.length} of them attempts), ${open} without an outcome, ${report.tokens} tokens, ${formatUsd(report.costUsd)}, ${formatDuration(elapsedMs)} in all.`,
  )
  return report
}
