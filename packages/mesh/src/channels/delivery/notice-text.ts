import { oneLine } from '@flotilla/protocol/one-line'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import { operatorAgentId } from '@flotilla/protocol/ids'
import type { Settings } from '../../config/index.ts'

export type NoticeKind = Settings['channels']['notices']['about'][number]

export interface Notice {
  readonly kind: NoticeKind
  /** Who speaks, whose name then stands before every piece; null for the mesh. */
  readonly agentId: string | null
  readonly text: string
  /** What is told of, by name; the same is told once a day. The words, where it is nothing that has a name. */
  readonly about: string
}

const endedTaskStates: readonly string[] = ['done', 'failed', 'blocked', 'cancelled']
const textMaxChars = 2000
/** Of an agent's words within ours: on one line, and short enough for one message of every platform. */
const summaryMaxChars = 600
const repeatsMax = 3
const repeatMaxChars = 300

/** What owners are told of an event, or null. Nothing can be decided by what it says. Pure. */
export function noticeOf(event: FleetEventBody): Notice | null {
  if (event.type === 'note.added') {
    const text = event.message.slice(0, textMaxChars)
    // The mesh says nothing twice: an agent in quarantine again is news in the same words.
    const about = event.by === 'mesh' ? event.note_id : text
    return { kind: 'notes', agentId: event.agent_id, text, about }
  }
  if (event.type === 'approval.asked') {
    return {
      kind: 'approvals',
      agentId: null,
      text: `${event.agent_id} asks: ${oneLine(event.summary, summaryMaxChars)}\n${repeatsText(event.repeats)}Decide it in a terminal of the machine: flotilla pending; or at the dashboard, under Approvals.`,
      // Whoever asks again in the same words waits again.
      about: event.approval_id,
    }
  }
  if (event.type === 'budget.reached') {
    const text = budgetText(event)
    return { kind: 'budgets', agentId: null, text, about: text }
  }
  const isHandOff = event.type === 'task.changed' && event.creator === operatorAgentId
  if (!isHandOff || !endedTaskStates.includes(event.state)) return null
  const text = `${event.assignee}: "${oneLine(event.title, 200)}" is ${event.state}.`
  return { kind: 'tasks', agentId: null, text, about: `${event.task_id} ${event.state}` }
}

/** The first few that a person should know of before deciding, a line each. */
function repeatsText(repeats: readonly string[] = []): string {
  return repeats
    .slice(0, repeatsMax)
    .map((words) => `${oneLine(words, repeatMaxChars)}\n`)
    .join('')
}

function budgetText(event: Extract<FleetEventBody, { readonly type: 'budget.reached' }>): string {
  const { spent_usd: spent, limit_usd: limit, period, percent } = event
  const whose = event.scope === 'fleet' ? 'The fleet' : `The ${event.scope} ${event.scope_id}`
  const said = `${whose} has spent USD ${spent.toFixed(2)} of USD ${limit.toFixed(2)} for ${period}`
  // A budget is used up as well where what is left pays for no call.
  return percent >= 100 && spent < limit
    ? `${said}, and what is left is too little for its next call.`
    : `${said} (${percent} %).`
}

/** So that nothing of it can pass for a line of ours. Pure. */

/**
 * When something may be told that would be told now: at once, or when the quiet hours end. `now` in milliseconds since 1970,
 * hours as the machine has them. Pure but for the machine's time zone.
 */
export function tellAt(now: number, quiet: Settings['channels']['notices']['quiet_hours']): number {
  if (quiet === null || quiet.from === quiet.to) return now
  const at = new Date(now)
  const time = `${String(at.getHours()).padStart(2, '0')}:${String(at.getMinutes()).padStart(2, '0')}`
  const isQuiet =
    quiet.from < quiet.to ? time >= quiet.from && time < quiet.to : time >= quiet.from || time < quiet.to
  if (!isQuiet) return now
  const [hours = 0, minutes = 0] = quiet.to.split(':').map(Number)
  const end = new Date(now)
  end.setHours(hours, minutes, 0, 0)
  // Where clocks were set back, that time of the day comes twice; the second is meant while it is still to come.
  if (end.getTime() <= now && time < quiet.to) {
    const minutesLeft = hours * 60 + minutes - (at.getHours() * 60 + at.getMinutes())
    return now - (now % 60_000) + minutesLeft * 60_000
  }
  if (end.getTime() <= now) end.setDate(end.getDate() + 1)
  return end.getTime()
}
