import type { RunOutcome } from '@flotilla/protocol/run'
import type { ConversationPlace } from '../adapter.ts'
import { tellableDetail } from './owner-figures.ts'

/** Returns the text about the end of a run for the person who requested it, as recorded in the ledger. Pure. */
export function outcomeText({ status, text, code }: RunOutcome, place: ConversationPlace): string {
  const detail = tellableDetail({ code, detail: text.trim() }, place)
  if (status === 'done') return detail === '' ? '(Done, without a text.)' : detail
  const how = code === undefined || code === status ? status : `${status}: ${code}`
  return detail === '' ? `(${how})` : `(${how}) ${detail}`
}

/** Returns the note about files that are not sent with an answer. Pure. */
export function restText(count: number): string {
  if (count <= 0) return ''
  return `\n\n(${count} more file${count === 1 ? '' : 's'}: in the dashboard, under Artifacts.)`
}
