import { tellingArgument } from '@flotilla/client/telling-argument'
import { upTo } from '@flotilla/protocol/up-to'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import { reportedModel } from '@flotilla/protocol/harness-api'
import { oneLine } from '../terminal/color.ts'
import type { Color } from '../terminal/color.ts'
import { formatWait } from './format-wait.ts'
import type { DelayedEvent } from './format-wait.ts'
import { formatBytes, formatDuration, formatUsd } from '../terminal/format.ts'

/** The maximum columns of an input or output on its line. */
const quotedMax = 88
/** A slow call gets a line only after this time, since more lines would hide others; a status line appears sooner. */
const silentLineSeconds = 2
/** Maximum columns of a tool's name, which an agent may have chosen. */
const nameMax = 64

/**
 * Formats an event as one line: who, then what. Null for events without a line (streamed text, states that another
 * event describes better). `before` is the prefix of commands in the line, for the command line or the prompt.
 */
// oxlint-disable-next-line typescript/consistent-return -- the switch is exhaustive, which tsc checks
export function eventLine(event: FleetEventBody, color: Color, before: string): string | null {
  switch (event.type) {
    case 'agent.created':
      return line(color, event.agent_id, `is created: ${oneLine(event.role, quotedMax)}`)
    case 'agent.started':
      return line(color, event.agent_id, `is ready after ${formatDuration(event.ready_ms)}`)
    case 'agent.stopped':
      return line(color, event.agent_id, `stopped: ${oneLine(event.reason, quotedMax)}`)
    case 'agent.spawned':
      return line(color, event.agent_id, `is spawned by ${event.parent_id} for one task`)
    case 'agent.changed':
      return changedLine(event, color, before)
    case 'agent.warned':
      return line(color, event.agent_id, color.warning(oneLine(event.message, 200)))
    case 'agent.died':
      return line(
        color,
        event.agent_id,
        color.bad(event.out_of_memory ? 'died: out of memory' : `died with exit code ${event.exit_code}`),
      )
    case 'run.changed':
      return runLine(event, color)
    case 'steer.changed':
      return line(color, event.agent_id, steerWords(event, color))
    case 'text.streamed':
      return null
    case 'tool.started':
      return line(
        color,
        callerOf(event),
        `${color.strong(oneLine(event.name, nameMax))} ${color.faint(oneLine(tellingArgument(event.input), quotedMax))}`,
      )
    case 'tool.ended':
      return line(
        color,
        callerOf(event),
        `${event.ok ? color.good('  ✓') : color.bad('  ✗')} ${color.faint(oneLine(event.output, quotedMax))}`,
      )
    case 'files.changed': {
      const count = event.files.length + event.unlisted
      if (count === 0) return null
      const names = event.files.map(({ path, change }) => `${path} (${change})`).join(', ')
      return line(
        color,
        event.agent_id,
        `${count === 1 ? '1 file' : `${count} files`}: ${oneLine(names, quotedMax)}`,
      )
    }
    case 'task.changed':
      return line(
        color,
        event.assignee,
        `task “${oneLine(event.title, 60)}” from ${event.creator} ${taskWords(event)}`,
      )
    case 'message.changed': {
      const answered = event.state === 'answered'
      const [who, other] = answered ? [event.to, event.from] : [event.from, event.to]
      const action = answered
        ? `answered ${other}`
        : `asked ${other}${event.state === 'kept' ? ' (at its next heartbeat)' : ''}: “${oneLine(event.text, 60)}”`
      return line(color, who, action)
    }
    case 'blackboard.written':
      return line(color, event.written_by, `wrote ${event.key} to the blackboard (version ${event.version})`)
    case 'blackboard.deleted':
      return line(color, event.deleted_by, `deleted ${event.key} from the blackboard`)
    case 'project.changed':
      return line(color, event.actor, `project ${event.project} is ${event.action}`)
    case 'artifact.saved':
      return line(color, event.agent_id, `saved artifact ${event.name}, ${formatBytes(event.size_bytes)}`)
    case 'model.called': {
      const unsure = event.unconfirmed === undefined ? 0 : 1
      return line(
        color,
        event.agent_id,
        color.faint(
          `model ${event.model}: ${upTo(`${event.tokens}`, unsure)} tokens, ${upTo(formatUsd(event.cost_usd), unsure)}, ${formatDuration(event.duration_ms)}`,
        ),
      )
    }
    case 'tokens.reported':
      return line(
        color,
        event.agent_id,
        color.faint(`${event.prompt_tokens + event.completion_tokens} tokens, ${reportedModel}`),
      )
    case 'model.delayed':
      return event.state === 'silent' && event.seconds < silentLineSeconds ? null : waitLine(event, color)
    case 'model.cooling':
      return line(
        color,
        'mesh',
        color.bad(
          `model ${event.model} is in cooldown for ${event.seconds} s: ${oneLine(event.detail, quotedMax)}`,
        ),
      )
    case 'model.recovered':
      return line(color, 'mesh', color.good(`model ${event.model} answers again`))
    case 'call.denied':
      return line(
        color,
        event.agent_id,
        color.bad(`was denied ${event.action}: ${oneLine(event.reason, quotedMax)}`),
      )
    case 'approval.asked':
      return line(
        color,
        event.agent_id,
        color.warning(
          `asks you to ${oneLine(event.summary, 200)} (${before}confirm ${event.approval_id}, or cancel)`,
        ),
      )
    case 'approval.settled':
      return line(
        color,
        event.agent_id,
        `${event.approval_id} is ${event.state}${event.detail === '' ? '' : `: ${oneLine(event.detail, 200)}`}`,
      )
    case 'agent.edited':
      return line(
        color,
        event.agent_id,
        `has a new ${event.field}, set by ${event.actor} (${before}undo ${event.undo_token})`,
      )
    case 'edit.undone':
      return line(color, event.agent_id, `has its previous ${event.field} again, restored by ${event.actor}`)
    case 'note.added':
      return line(color, event.agent_id, `notes: ${oneLine(event.message, 400)}`)
    case 'budget.changed':
      return line(
        color,
        potWords(event.scope, event.scope_id),
        `has a budget of ${limitWords(event.daily_usd)} a day and ${limitWords(event.monthly_usd)} a month`,
      )
    case 'budget.reached':
      return line(
        color,
        potWords(event.scope, event.scope_id),
        color[event.percent < 100 ? 'warning' : 'bad'](
          `has spent ${formatUsd(event.spent_usd)} of ${formatUsd(event.limit_usd)} for ${event.period}${event.percent < 100 ? '' : ': calls are rejected'}`,
        ),
      )
    case 'journal.broken':
      return line(color, 'mesh', color.bad(`the audit log was altered: ${oneLine(event.detail, 200)}`))
    case 'work.paused':
      return line(
        color,
        event.agent_id ?? 'fleet',
        color.warning(`is paused by ${event.actor}: ${oneLine(event.reason, 200)}`),
      )
    case 'work.resumed':
      return line(color, event.agent_id ?? 'fleet', `is resumed by ${event.actor}`)
    case 'cron.changed':
      return cronLine(event, color)
    case 'wall.failed':
      return line(
        color,
        'mesh',
        color.bad(`wall ${event.wall_id} failed its check: ${oneLine(event.detail, 200)}`),
      )
    case 'permissions.broken':
      return line(color, 'mesh', color.bad(`permissions are broken: ${oneLine(event.detail, 200)}`))
    case 'watch.fired':
      return line(color, event.agent_id, `is notified of ${oneLine(event.filepath, 100)} (${event.change})`)
    case 'watch.troubled':
      return line(
        color,
        'mesh',
        color.warning(`watch ${oneLine(event.watch, 80)}: ${oneLine(event.detail, 200)}`),
      )
    case 'watch.recovered':
      return line(color, 'mesh', color.good(`watch ${oneLine(event.watch, 80)} works again`))
    case 'watchers.broken':
      return line(color, 'mesh', color.bad(`watchers are broken: ${oneLine(event.detail, 200)}`))
    case 'signal.published':
      return line(
        color,
        event.from,
        `says on ${event.topic} to ${event.delivered}: “${oneLine(event.text, 80)}”${event.full.length === 0 ? '' : color.warning(` (box full: ${oneLine(event.full.join(', '), 60)})`)}`,
      )
    case 'browser.opened':
      return line(color, event.agent_id, 'has its browser open')
    case 'browser.page':
      return line(color, event.agent_id, `visits ${oneLine(event.host || 'an empty page', quotedMax)}`)
    case 'browser.downloaded':
      return line(color, event.agent_id, `downloaded ${oneLine(event.path, quotedMax)} from ${event.host}`)
    case 'browser.handed':
      return line(
        color,
        event.agent_id,
        event.by === null
          ? color.warning(
              `needs a person in its browser: ${event.host} (${before}browser ${event.agent_id} --open)`,
            )
          : `waits: ${event.by} controls its browser`,
      )
    case 'browser.returned':
      return line(color, event.agent_id, returnedWords[event.how])
    case 'browser.closed':
      return line(color, event.agent_id, `has its browser closed: ${oneLine(event.reason, quotedMax)}`)
    case 'browser.failed':
      return line(color, event.agent_id, color.bad(`lost its browser: ${oneLine(event.reason, quotedMax)}`))
    case 'topic.subscribed':
      return line(color, event.agent_id, `subscribed to ${event.topic}`)
    case 'topic.unsubscribed':
      return line(color, event.agent_id, `unsubscribed from ${event.topic}`)
  }
}

function waitLine(event: DelayedEvent, color: Color): string | null {
  const waitText = formatWait(event)
  return waitText === null ? null : line(color, event.agent_id, color.warning(waitText))
}

function callerOf({ agent_id: id, subagent }: { agent_id: string; subagent?: string | undefined }): string {
  return subagent === undefined ? id : `${id}/${subagent}`
}

function steerWords(event: Extract<FleetEventBody, { type: 'steer.changed' }>, color: Color): string {
  const quoted = `“${oneLine(event.text, 60)}”`
  if (event.state === 'taken') return `reads ${quoted} after step ${event.step}`
  if (event.state === 'waiting') return color.faint(`will read ${quoted} before its next step`)
  if (event.state === 'returned') return `was stopped before it read ${quoted}, which starts nothing`
  return `answers ${quoted} in a separate run, ${event.became_run_id}`
}

function runLine(event: Extract<FleetEventBody, { type: 'run.changed' }>, color: Color): string | null {
  if (event.state === 'queued' || event.state === 'running') return null
  if (event.state === 'waiting')
    return line(color, event.agent_id, color.faint('waits for what it asked for'))
  if (event.state === 'done') return null
  const why = event.outcome === null ? '' : `: ${oneLine(event.outcome.text, quotedMax)}`
  return line(color, event.agent_id, color.bad(`run ${event.run_id} is ${event.state}${why}`))
}

function cronLine(event: Extract<FleetEventBody, { type: 'cron.changed' }>, color: Color): string | null {
  const detail = event.detail === '' ? '' : `: ${oneLine(event.detail, quotedMax)}`
  const jobText = `job ${event.job_id} (${oneLine(event.schedule, 30)}) ${event.action}${detail}`
  // Other events report the begin and the failure of the job's runs, so this line has less emphasis.
  return line(color, event.agent_id, event.action === 'error' ? color.bad(jobText) : color.faint(jobText))
}

function line(color: Color, who: string, what: string): string {
  return `${color.name(oneLine(who, 16).padEnd(10))} ${what}`
}

function potWords(scope: string, id: string): string {
  if (scope === 'fleet') return 'fleet'
  return scope === 'agent' ? id : `${scope} ${id}`
}

function limitWords(usd: number | null): string {
  return usd === null ? 'no limit' : formatUsd(usd)
}

/** What happens to the work of a quarantined agent, and what a person can do about it. Pure. */
function quarantineWords(agentId: string, before: string): string {
  return `. Its work waits; the mesh retries from time to time. To retry now: ${before}restart ${agentId}`
}

/** Returns a line for a changed state of an agent; null for states that another event describes better. */
function changedLine(
  { agent_id: agentId, to, reason }: Extract<FleetEventBody, { type: 'agent.changed' }>,
  color: Color,
  before: string,
): string | null {
  const why = reason === null ? '' : `: ${oneLine(reason, quotedMax)}`
  if (to === 'hibernated') return line(color, agentId, 'sleeps until its next work')
  if (to === 'unhealthy') return line(color, agentId, color.warning(`is unhealthy${why}`))
  if (to === 'restarting') return line(color, agentId, color.warning(`will be started again${why}`))
  if (to === 'quarantined')
    return line(color, agentId, color.bad(`is in quarantine${why}`) + quarantineWords(agentId, before))
  return null
}

/** Describes what happened to a task: the action if it has words of its own, else the new state. */
function taskWords(event: Extract<FleetEventBody, { type: 'task.changed' }>): string {
  if (event.action === 'progress') return 'made progress'
  if (event.action === 'review') return 'was reviewed'
  return event.action === 'reroute' ? 'was rerouted' : `is ${event.state}`
}

const returnedWords = {
  returned: 'has its browser back',
  solved: 'has its browser back: the solver answered its CAPTCHA',
  expired: 'no longer waits for a person in its browser',
  lost: 'lost its browser: it was closed',
} as const
