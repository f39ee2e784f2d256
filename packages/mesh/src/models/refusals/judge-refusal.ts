import { saysTooLong } from '@flotilla/protocol/context-overflow'
import type { HistoryPart } from './history-rows.ts'
import type { RefusalFacts } from './read-refusal.ts'
import { refusalRows } from './refusal-table.ts'
import type { RefusalMeaning, RefusalRow } from './refusal-table.ts'

export interface Judged {
  /** Null for what only the status tells of. */
  readonly means: RefusalMeaning | null
  readonly part: HistoryPart | null
}

/** A limit that says it ends within this is a rate limit, whatever span it counts, milliseconds. */
const passesWithinMs = 120_000
/** Limits that roll on, so that their end may be near or far. */
const rollingQuota = /(?:tokens|requests) per day|\b(?:TPD|RPD)\b/i

/** What a refusal means, by its body first and its status last. Pure. */
export function judgeRefusal(facts: RefusalFacts): Judged {
  if (rollingQuota.test(facts.message) && !/request too large/i.test(facts.message)) {
    const isNear = facts.retryAfterMs !== null && facts.retryAfterMs <= passesWithinMs
    return { means: isNear ? 'rate' : 'quota', part: null }
  }
  const row = refusalRows.find((one) => fits(one, facts))
  // A rate limit counts tokens as well, and says so in words like those of a window.
  const mayBeTooLong =
    row === undefined || row.means === 'access' || (row.means === 'history' && row.part !== 'images')
  if (mayBeTooLong && facts.status !== 429 && saysTooLong(facts.message))
    return { means: 'too-long', part: null }
  return { means: row?.means ?? null, part: row?.part ?? null }
}

function fits({ status, at, code, says }: RefusalRow, facts: RefusalFacts): boolean {
  if (status !== undefined && !status.includes(facts.status)) return false
  if (at !== undefined && !at.test(`${facts.provider} ${facts.host}`)) return false
  if (code !== undefined && !facts.codes.some((one) => code.test(one))) return false
  return says === undefined || says.test(facts.message)
}
