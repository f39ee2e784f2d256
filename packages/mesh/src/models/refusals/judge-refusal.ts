import { saysTooLong } from '@flotilla/protocol/context-overflow'
import type { HistoryPart } from './history-rows.ts'
import type { RefusalFacts } from './read-refusal.ts'
import { refusalRows } from './refusal-table.ts'
import type { RefusalMeaning, RefusalRow } from './refusal-table.ts'

export interface Judged {
  /** The meaning of the refusal; null if only the status is known. */
  readonly means: RefusalMeaning | null
  readonly part: HistoryPart | null
}

/** A quota that ends within this time counts as a rate limit, whatever period it covers, milliseconds. */
const passesWithinMs = 120_000
/** Quotas with a rolling window, which may end soon or late. */
const rollingQuota = /(?:tokens|requests) per day|\b(?:TPD|RPD)\b/i

/** Classifies a refusal, by its body first and its status last. Pure. */
export function judgeRefusal(facts: RefusalFacts): Judged {
  if (rollingQuota.test(facts.message) && !/request too large/i.test(facts.message)) {
    const isNear = facts.retryAfterMs !== null && facts.retryAfterMs <= passesWithinMs
    return { means: isNear ? 'rate' : 'quota', part: null }
  }
  const row = refusalRows.find((one) => fits(one, facts))
  // A rate limit may also count tokens, in words like those about a context window.
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
