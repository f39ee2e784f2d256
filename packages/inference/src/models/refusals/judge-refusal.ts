import { saysTooLong } from '@flotilla/protocol/context-overflow'
import type { HistoryPart } from './history-rows.ts'
import type { RefusalFacts } from './read-refusal.ts'
import { refusalRows } from './refusal-table.ts'
import type { RefusalMeaning, RefusalRow } from './refusal-table.ts'

/**
 * Whose calls a refusal may affect: those of all agents if a code or the status proves its meaning, those of the
 * calling agent if it does not, and this call alone if its size is the cause. Words do not prove a meaning, because
 * they may quote the caller; neither does a page of a proxy or a firewall, because it may judge the content.
 */
export type Affected = 'all' | 'agent' | 'call'

export interface Judged {
  /** The meaning of the refusal; null if only the status is known. */
  readonly means: RefusalMeaning | null
  readonly part: HistoryPart | null
  readonly affects: Affected
  /** A meaning whose words the request itself contains; null if no such words were found. */
  readonly echoed: RefusalMeaning | null
}

/** Whether the request contains a phrase of the message; each question reads the whole request. */
export type IsEchoed = (phrase: string) => boolean

/** A quota that ends within this time counts as a rate limit, whatever period it covers, milliseconds. */
const passesWithinMs = 120_000
/** Quotas with a rolling window, which may end soon or late. */
const rollingQuota = /(?:tokens|requests) per day|\b(?:TPD|RPD)\b/i
/** The most phrases of one refusal that are searched in the request; further ones count as found. */
const echoesMax = 4

/** Meanings that affect calls of other agents. */
const shared: readonly RefusalMeaning[] = ['credit', 'quota', 'key', 'access', 'model', 'rate', 'overloaded']

/**
 * The statuses with which words prove a meaning if the request does not contain them. With any other status, such as
 * 400, a provider describes the request and quotes it.
 */
const provingStatuses: Readonly<Partial<Record<RefusalMeaning, readonly number[]>>> = {
  credit: [401, 402, 403, 429],
  quota: [401, 402, 403, 429],
  key: [401, 403],
  access: [401, 403],
  model: [404, 410],
  rate: [429],
  overloaded: [429, 498, 500, 502, 503, 529],
}

/**
 * Classifies a refusal, by its body first and its status last. `isEchoed` is null if the request is not known. Pure.
 */
export function judgeRefusal(facts: RefusalFacts, isEchoed: IsEchoed | null = null): Judged {
  let echoed: RefusalMeaning | null = null
  let checkCount = 0
  const isFromCaller = (means: RefusalMeaning, phrase: string): boolean => {
    if (isEchoed === null || !shared.includes(means)) return false
    const isFound = ++checkCount > echoesMax || isEchoed(phrase)
    if (isFound) echoed ??= means
    return isFound
  }
  const rolling = facts.status === 429 ? rollingQuota.exec(facts.message) : null
  if (rolling !== null && !/request too large/i.test(facts.message) && !isFromCaller('quota', rolling[0])) {
    const isNear = facts.retryAfterMs !== null && facts.retryAfterMs <= passesWithinMs
    const affects = isEchoed === null ? 'agent' : 'all'
    return { means: isNear ? 'rate' : 'quota', part: null, affects, echoed: null }
  }
  const row = refusalRows.find((one) => {
    const phrase = phraseOf(one, facts)
    return phrase !== null && (phrase === '' || !isFromCaller(one.means, phrase))
  })
  // A rate limit may also count tokens, in words like those about a context window.
  const mayBeTooLong =
    row === undefined || row.means === 'access' || (row.means === 'history' && row.part !== 'images')
  if (mayBeTooLong && facts.status !== 429 && saysTooLong(facts.message))
    return { means: 'too-long', part: null, affects: 'all', echoed }
  const affects = row === undefined ? 'all' : affectedBy(row, facts, isEchoed !== null)
  return { means: row?.means ?? null, part: row?.part ?? null, affects, echoed }
}

/** Without the request, the words of the provider cannot be distinguished from those of the caller. */
function affectedBy(row: RefusalRow, facts: RefusalFacts, isRequestKnown: boolean): Affected {
  if (!shared.includes(row.means)) return 'all'
  if (row.isOfCall === true) return 'call'
  if (row.whole !== undefined) return 'all'
  if (row.says !== undefined)
    return isRequestKnown && provingStatuses[row.means]?.includes(facts.status) === true ? 'all' : 'agent'
  if (row.code !== undefined) return 'all'
  return provesByStatus(facts) ? 'all' : 'agent'
}

/** Whether a status without a known code or known words proves that key, account or provider refuses all calls. */
function provesByStatus({ status, isFromApi }: RefusalFacts): boolean {
  if (status === 401 || status === 402) return isFromApi
  return status === 429 || status === 529
}

/** Returns the words of the message that match a row; empty if the row needs none; null if the row does not match. */
function phraseOf({ status, at, code, says, whole }: RefusalRow, facts: RefusalFacts): string | null {
  if (whole !== undefined && (whole.host !== facts.host || !whole.text.test(facts.message))) return null
  if (status !== undefined && !status.includes(facts.status)) return null
  if (at !== undefined && !at.test(`${facts.provider} ${facts.host}`)) return null
  if (code !== undefined && !facts.codes.some((one) => code.test(one))) return null
  return says === undefined ? '' : (says.exec(facts.message)?.[0] ?? null)
}
