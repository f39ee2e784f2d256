import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import { joinPromptText, sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import * as z from 'zod'

/** From this share of a day's budget on, the spent amount is reported. */
const moneyTold = 0.8
/** From this number of waiting runs on, a lane counts as long. */
const longLane = 20
/** How much of the reason for an agent's change a heartbeat's message shows, in characters. */
const reasonMaxChars = 160
/** The maximum number of changes of the fleet that a heartbeat's message lists; further changes are only counted. */
const linesMax = 30

/** The facts about an agent whose changes are reported. Starts and stops are left out, because they are normal. */
const agentFactsSchema = z.object({
  failed: z.boolean(),
  archived: z.boolean(),
  paused: z.boolean(),
  /** The state of the day's budget. */
  money: z.enum(['room', 'tight', 'spent']),
  longLane: z.boolean(),
  /** The number of failed runs in the last 24 hours. */
  failures: z.number(),
})
export const fleetFactsSchema = z.record(z.string(), agentFactsSchema)
export type FleetFacts = Readonly<z.infer<typeof fleetFactsSchema>>

export interface FleetChange {
  readonly text: PromptText
  /** True if a person may have to act on the change. */
  readonly worse: boolean
}

export function factsOf(agents: readonly AgentView[], failuresOf: (agentId: string) => number): FleetFacts {
  return Object.fromEntries(
    agents.map((agent) => [
      agent.id,
      {
        failed: agent.state === 'restarting' || agent.state === 'quarantined',
        archived: agent.archived,
        paused: agent.paused !== null,
        money: moneyOf(agent.cost_today_usd / agent.budget.daily_usd),
        longLane: agent.queued >= longLane,
        failures: failuresOf(agent.id),
      },
    ]),
  )
}

function moneyOf(share: number): 'room' | 'tight' | 'spent' {
  if (share >= 1) return 'spent'
  return share >= moneyTold ? 'tight' : 'room'
}

/** Returns the changes between two states of the fleet, in the order of agent ids. Pure. */
export function fleetChanges(
  before: FleetFacts,
  now: FleetFacts,
  errorOf: (agentId: string) => string | null = () => null,
): readonly FleetChange[] {
  const ids = [...new Set([...Object.keys(before), ...Object.keys(now)])].toSorted()
  return ids.flatMap((id) => {
    const [was, is] = [before[id], now[id]]
    if (!is) return [change(id, 'is gone')]
    if (!was) return [change(id, 'is new'), ...between(id, { was: calm, is }, errorOf(id))]
    return between(id, { was, is }, errorOf(id))
  })
}

type AgentFacts = FleetFacts[string]
const calm: AgentFacts = {
  failed: false,
  archived: false,
  paused: false,
  money: 'room',
  longLane: false,
  failures: 0,
}

function between(
  id: string,
  { was, is }: { readonly was: AgentFacts; readonly is: AgentFacts },
  error: string | null,
): FleetChange[] {
  const found: FleetChange[] = []
  if (!was.failed && is.failed) found.push(change(id, `failed: ${error ?? 'no reason is known'}`, true))
  if (was.failed && !is.failed) found.push(change(id, 'no longer counts as failed'))
  if (was.archived !== is.archived)
    found.push(change(id, is.archived ? 'was archived' : 'was restored from the archive'))
  if (was.paused !== is.paused) found.push(change(id, is.paused ? 'was paused' : 'goes on'))
  if (was.money !== is.money && is.money !== 'room') {
    const detail =
      is.money === 'spent' ? 'has used up the budget of today' : 'has used 80 % of the budget of today'
    found.push(change(id, detail, true))
  }
  if (!was.longLane && is.longLane) found.push(change(id, `has ${longLane} runs or more in its lane`, true))
  // A lower count is not reported: it only means that failures are older than a day.
  if (is.failures > was.failures) {
    found.push(
      change(
        id,
        `${is.failures} ${is.failures === 1 ? 'run' : 'runs'} failed in 24 hours, and ${was.failures} at your last heartbeat`,
        true,
      ),
    )
  }
  return found
}

function change(id: string, detail: string, worse = false): FleetChange {
  const line = sanitizeForPrompt(`- ${id}: ${detail.replaceAll(/\s+/g, ' ')}`)
  return { text: truncatePromptText(line, reasonMaxChars + id.length, '…'), worse }
}

export function changeLines(changes: readonly FleetChange[]): PromptText {
  const left = changes.length - linesMax
  return joinPromptText(
    [
      ...changes.slice(0, linesMax).map(({ text }) => text),
      ...(left > 0 ? [sanitizeForPrompt(`- and ${left} more, which inspect_fleet shows`)] : []),
    ],
    '\n',
  )
}
