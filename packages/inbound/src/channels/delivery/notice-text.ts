import { dashboardPageEndpoints } from '@flotilla/protocol/dashboard-api'
import { oneLine } from '@flotilla/protocol/one-line'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import { operatorAgentId } from '@flotilla/protocol/ids'
import type { Settings } from '@flotilla/foundation/config'

export type NoticeKind = Settings['channels']['notices']['about'][number]

export interface Notice {
  readonly kind: NoticeKind
  /** The agent whose name prefixes every part; null for the mesh. */
  readonly agentId: string | null
  /** The agent that caused the notice, whose notices per hour are limited; null for the mesh. */
  readonly by: string | null
  readonly text: string
  /** The key by which a notice is sent at most once a day: an id, or the text if it has no id. */
  readonly about: string
}

const endedTaskStates: readonly string[] = ['done', 'failed', 'blocked', 'cancelled']
/** How much of an agent's message a notice to a person contains, in characters. */
const textMaxChars = 2000
/** The maximum length of an agent's text within a notice. It is one line and fits one message on every platform. */
const summaryMaxChars = 600
/** How many earlier equal requests the notice of an approval quotes. */
const repeatsMax = 3
/** How much of an earlier equal request the notice of an approval quotes, in characters. */
const repeatMaxChars = 300

/**
 * Returns the notice for an event, or null. A reply to the notice of an approval request decides nothing, and neither
 * does the link in it, which platforms open for a preview. `dashboard` is its address. Pure.
 */
export function noticeOf(event: FleetEventBody, dashboard: string): Notice | null {
  if (event.type === 'note.added') {
    const text = event.message.slice(0, textMaxChars)
    // A note of the mesh is never a duplicate: an agent that enters quarantine twice causes the same text twice.
    const about = event.by === 'mesh' ? event.note_id : text
    return { kind: 'notes', agentId: event.agent_id, by: event.agent_id, text, about }
  }
  if (event.type === 'approval.asked') {
    return {
      kind: 'approvals',
      agentId: null,
      by: event.agent_id,
      text: `${event.agent_id} asks: ${oneLine(event.summary, summaryMaxChars)}\n${repeatsText(event.repeats)}Decide it here: ${approvalAddress(dashboard, event.approval_id)}\nOr in a terminal of the machine: flotilla pending`,
      // A repeated request with the same text is a new request.
      about: event.approval_id,
    }
  }
  if (event.type === 'budget.reached') {
    const text = budgetText(event)
    const by = event.scope === 'agent' ? event.scope_id : null
    return { kind: 'budgets', agentId: null, by, text, about: text }
  }
  const isHandOff = event.type === 'task.changed' && event.creator === operatorAgentId
  if (!isHandOff || !endedTaskStates.includes(event.state)) return null
  const text = `${event.assignee}: "${oneLine(event.title, 200)}" is ${event.state}.`
  return { kind: 'tasks', agentId: null, by: event.assignee, text, about: `${event.task_id} ${event.state}` }
}

/** The address of the page of an approval. Platforms escape `_` in text, which would break the address. */
function approvalAddress(dashboard: string, id: string): string {
  const path = dashboardPageEndpoints.approval.path.replace('{id}', encodeURIComponent(id))
  return `${dashboard.replace(/\/$/, '')}${path}`.replaceAll('_', '%5F')
}

/** Returns the first few equal requests that a person should know of before a decision, one per line. */
function repeatsText(repeats: readonly string[] = []): string {
  return repeats
    .slice(0, repeatsMax)
    .map((text) => `${oneLine(text, repeatMaxChars)}\n`)
    .join('')
}

function budgetText(event: Extract<FleetEventBody, { readonly type: 'budget.reached' }>): string {
  const { spent_usd: spent, limit_usd: limit, period, percent } = event
  const whose = event.scope === 'fleet' ? 'The fleet' : `The ${event.scope} ${event.scope_id}`
  const sentence = `${whose} has spent USD ${spent.toFixed(2)} of USD ${limit.toFixed(2)} for ${period}`
  // A budget also counts as used up if the remaining amount is too small for a call.
  return percent >= 100 && spent < limit
    ? `${sentence}, and the rest is too small for the next model call.`
    : `${sentence} (${percent} %).`
}

/**
 * Returns when to send a notice: now, or at the end of the quiet hours, in milliseconds since 1970,
 * as `now`. Quiet hours are in local time. Pure except for the time zone of the machine.
 */
export function sendAt(now: number, quiet: Settings['channels']['notices']['quiet_hours']): number {
  if (quiet === null || quiet.from === quiet.to) return now
  const at = new Date(now)
  const time = `${String(at.getHours()).padStart(2, '0')}:${String(at.getMinutes()).padStart(2, '0')}`
  const isQuiet =
    quiet.from < quiet.to ? time >= quiet.from && time < quiet.to : time >= quiet.from || time < quiet.to
  if (!isQuiet) return now
  const [hours = 0, minutes = 0] = quiet.to.split(':').map(Number)
  const end = new Date(now)
  end.setHours(hours, minutes, 0, 0)
  // When clocks are set back, a time of day occurs twice. If only the second occurrence is ahead, it counts.
  if (end.getTime() <= now && time < quiet.to) {
    const minutesLeft = hours * 60 + minutes - (at.getHours() * 60 + at.getMinutes())
    return now - (now % 60_000) + minutesLeft * 60_000
  }
  if (end.getTime() <= now) end.setDate(end.getDate() + 1)
  return end.getTime()
}
