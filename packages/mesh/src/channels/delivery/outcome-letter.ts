import type { RunOutcome } from '@flotilla/protocol/run'
import type { ConversationPlace } from '../adapter.ts'
import { tellableDetail } from './owner-figures.ts'

/** What whoever asked is told of the end of a run, as the ledger has it: nothing is made better. Pure. */
export function outcomeText({ status, text, code }: RunOutcome, place: ConversationPlace): string {
  const words = tellableDetail({ code, detail: text.trim() }, place)
  if (status === 'done') return words === '' ? '(It is done, and said nothing.)' : words
  const how = code === undefined || code === status ? status : `${status}: ${code}`
  return words === '' ? `(${how})` : `(${how}) ${words}`
}

/** Of files that are not sent beside an answer. Pure. */
export function restText(count: number): string {
  if (count <= 0) return ''
  return `\n\n(${count} more file${count === 1 ? '' : 's'} of it: at the dashboard, under Artifacts.)`
}
