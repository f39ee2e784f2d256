import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import type { RunView } from '@flotilla/protocol/run'
import { formatClock } from '../data/format.ts'
import { firstLine } from '../data/first-line.ts'

/** What happens next with a run, with the page on which a person can act. */
export interface NextStep {
  readonly words: string
  readonly link?: { readonly path: string; readonly words: string }
  /** What follows the link. */
  readonly after?: string
}

/** What a page knows beside the run. */
export interface RunSurroundings {
  /** The run's agent; undefined while it is not known. */
  readonly agent: Pick<AgentView, 'paused' | 'retry_at'> | undefined
  /** When the run calls its model again, in milliseconds since 1970; undefined if it is not delayed. */
  readonly retryAt: number | undefined
  /** Another run of the agent, which works now. */
  readonly ahead: Pick<RunView, 'id'> | undefined
  /** The ids of approvals that a person confirmed, and whose action has not ended. */
  readonly carriedOut: ReadonlySet<string>
  readonly now: number
}

/** Says what happens next with a run, or how it ended. Pure. */
export function nextStep(run: RunView, around: RunSurroundings): NextStep {
  switch (run.state) {
    case 'queued':
      return queuedStep(run, around)
    case 'running':
      return runningStep(around)
    case 'waiting':
      return waitingStep(run, around)
    case 'done':
      return { words: run.outcome === null ? 'done' : `done: ${firstLine(run.outcome.text)}` }
    case 'failed':
    case 'expired':
      return { words: run.outcome === null ? run.state : `${run.state}: ${firstLine(run.outcome.text)}` }
    case 'cancelled':
      return { words: 'stopped' }
  }
}

/** A pause holds runs that triggers started, except those that were interrupted while they worked. */
function isHeldByPause({ proactive, attempt }: RunView): boolean {
  return proactive && attempt <= 1
}

function queuedStep(run: RunView, { agent, ahead, now }: RunSurroundings): NextStep {
  const { agent_id: id } = run
  const page = `/agents/${encodeURIComponent(id)}`
  if (agent?.paused != null && isHeldByPause(run))
    return { words: `starts when its pause ends: ${agent.paused}`, link: { path: page, words: id } }
  if (agent?.retry_at != null)
    return { words: `starts when ${id} is back, at ${formatClock(agent.retry_at, now)}` }
  if (ahead !== undefined)
    return { words: 'starts after', link: { path: `/runs/${ahead.id}`, words: 'the run before it' } }
  return { words: 'starts next' }
}

function runningStep({ agent, retryAt, now }: RunSurroundings): NextStep {
  if (agent?.retry_at != null)
    return { words: `continues when its agent is back, at ${formatClock(agent.retry_at, now)}` }
  return { words: retryAt === undefined ? 'works' : `retries at ${formatClock(retryAt, now)}` }
}

/** What a person can act on is named first. */
const awaitedKinds = ['appr_', 'hand_', 'task_', 'msg_', 'pack_'] as const

function waitingStep(
  { waiting_on: ids, agent_id: agent }: RunView,
  { carriedOut }: RunSurroundings,
): NextStep {
  const open = ids.filter((one) => !carriedOut.has(one))
  const kind = awaitedKinds.find((prefix) => open.some((id) => id.startsWith(prefix)))
  const id = open.find((one) => kind !== undefined && one.startsWith(kind)) ?? ids[0]
  const more = ids.length > 1 ? { after: `, and for ${ids.length - 1} more` } : {}
  switch (kind) {
    case 'appr_':
      return { words: 'waits for', link: { path: '/approvals', words: 'your approval' }, ...more }
    case 'hand_':
      return {
        words: 'waits for you in',
        link: { path: `/agents/${encodeURIComponent(agent)}`, words: 'its browser' },
        ...more,
      }
    case 'task_':
      return {
        words: 'waits for',
        link: { path: `/work/tasks/${id}`, words: 'a task that it gave' },
        ...more,
      }
    case 'msg_':
      return { words: 'waits for the answer of another agent', ...more }
    case 'pack_':
      return { words: 'waits while the mesh chooses versions of packages', ...more }
    case undefined:
      if (id === undefined) return { words: 'waits' }
      return {
        words: 'waits for',
        link: { path: `/approvals/${id}`, words: 'an approved action to end' },
        ...more,
      }
  }
}
