import { usdFromNano } from './money.ts'
import type { Reservation, ReserveWish } from './reservation.ts'

/** The maximum use of the open calls of each run: at most one entry for each run with open calls. */
export function createOpenUsage() {
  const byRun = new Map<string, { tokens: number; nano: number; calls: number }>()

  function change({ row, reservedNano }: Reservation, tokens: number, calls: 1 | -1): void {
    if (row.runId === null) return
    const before = byRun.get(row.runId) ?? { tokens: 0, nano: 0, calls: 0 }
    if (before.calls + calls <= 0) return void byRun.delete(row.runId)
    byRun.set(row.runId, {
      tokens: before.tokens + calls * tokens,
      nano: before.nano + calls * reservedNano,
      calls: before.calls + calls,
    })
  }

  return {
    began: (reservation: Reservation, tokens: number) => change(reservation, tokens, 1),
    ended: (reservation: Reservation, tokens: number) => change(reservation, tokens, -1),
    /** Returns the most that the open calls of a run may use; null without one. */
    of(runId: string): { readonly tokens: number; readonly usd: number } | null {
      const open = byRun.get(runId)
      return open === undefined ? null : { tokens: open.tokens, usd: usdFromNano(open.nano) }
    },
  }
}

/** The most tokens that a call may use: its prompt and all its answers. Pure. */
export function tokensAtMost({ promptTokens, answers }: ReserveWish, maxTokens: number): number {
  return promptTokens + maxTokens * answers
}
