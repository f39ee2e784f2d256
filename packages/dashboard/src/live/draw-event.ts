import { tellingArgument } from '@flotilla/client/telling-argument'
import { upTo } from '@flotilla/protocol/up-to'
import { reportedModel } from '@flotilla/protocol/harness-api'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import { stateTone } from './state-tone.ts'
import type { Tone } from './state-tone.ts'
import { formatDuration, formatField, formatTokens, formatUsd } from '../data/format.ts'
import { describeChangedFiles } from '../data/describe-changed-files.ts'
import { formatActor } from '@flotilla/protocol/format-actor'

/** An event as one line of the activity list. */
export interface DrawnEvent {
  readonly tone: Tone
  /** The subject of the event; an agent's id if there is one. */
  readonly who: string
  readonly what: string
  /** The run that the line links to. */
  readonly runId?: string | undefined
}

type Kind = FleetEventBody['type']
type Of<K extends Kind> = Extract<FleetEventBody, { type: K }>
/** One function for each event type. */
export type EventDrawings = { readonly [K in Kind]: (event: Of<K>) => DrawnEvent }

/** An event type without an entry here does not compile, so every event is shown. */
export const eventDrawings: EventDrawings = {
  'agent.created': (e) => ({ tone: 'ok', who: e.agent_id, what: `was created: ${e.role}` }),
  'agent.started': (e) => ({
    tone: 'ok',
    who: e.agent_id,
    what: `is ready after ${formatDuration(e.ready_ms)}`,
  }),
  'agent.stopped': (e) => ({ tone: 'neutral', who: e.agent_id, what: `stopped: ${e.reason}` }),
  'agent.died': (e) => ({
    tone: 'bad',
    who: e.agent_id,
    what: e.out_of_memory ? 'ran out of memory' : `died with exit code ${e.exit_code}`,
  }),
  'agent.changed': (e) => ({
    tone: stateTone(e.to),
    who: e.agent_id,
    what: e.reason === null ? `is ${e.to}` : `is ${e.to}: ${e.reason}`,
  }),
  'agent.spawned': (e) => ({
    tone: 'ok',
    who: e.agent_id,
    what: `was spawned by ${e.parent_id} for one task`,
  }),
  'agent.warned': (e) => ({ tone: 'warn', who: e.agent_id, what: e.message }),
  'run.changed': (e) => ({
    tone: runTone(e.state),
    who: e.agent_id,
    what: e.outcome && e.state !== 'done' ? `run ${e.state}: ${e.outcome.text}` : `run ${e.state}`,
    runId: e.run_id,
  }),
  'steer.changed': (e) => ({
    tone: 'neutral',
    who: e.agent_id,
    what: `received the message “${e.text}” (${e.state})`,
    runId: e.run_id,
  }),
  'text.streamed': (e) => ({ tone: 'busy', who: e.agent_id, what: 'is answering', runId: e.run_id }),
  'tool.started': (e) => ({ tone: 'busy', who: e.agent_id, what: useWords(e), runId: e.run_id }),
  'tool.ended': (e) => ({
    tone: e.ok ? 'neutral' : 'warn',
    who: e.agent_id,
    what: e.ok ? `${e.name} is done` : `${e.name} failed: ${e.output}`,
    runId: e.run_id,
  }),
  'files.changed': (e) => ({
    tone: 'neutral',
    who: e.agent_id,
    what: describeChangedFiles(e),
    runId: e.run_id,
  }),
  'task.changed': (e) => ({ tone: 'neutral', who: e.assignee, what: `task “${e.title}” is ${e.state}` }),
  'message.changed': (e) => ({
    tone: 'neutral',
    who: e.from,
    what: `asked ${e.to} (${e.state}): “${e.text}”`,
  }),
  'project.changed': (e) => ({
    tone: 'neutral',
    who: formatActor(e.actor),
    what: `project ${e.project}: ${e.action}`,
  }),
  'blackboard.deleted': (e) => ({
    tone: 'neutral',
    who: formatActor(e.deleted_by),
    what: `deleted ${e.key}`,
  }),
  'blackboard.written': (e) => ({
    tone: 'neutral',
    who: formatActor(e.written_by),
    what: `wrote ${e.key}, version ${e.version}`,
  }),
  'artifact.saved': (e) => ({ tone: 'ok', who: e.agent_id, what: `saved ${e.name}` }),
  'model.called': (e) => ({
    tone: 'neutral',
    who: e.agent_id,
    what: `asked ${e.model}: ${upTo(formatTokens(e.tokens), unsure(e))} tokens, ${upTo(formatUsd(e.cost_usd), unsure(e))}, ${formatDuration(e.duration_ms)}`,
    runId: e.run_id ?? undefined,
  }),
  'tokens.reported': (e) => ({
    tone: 'neutral',
    who: e.agent_id,
    what: `${formatTokens(e.prompt_tokens + e.completion_tokens)} tokens, ${reportedModel}`,
    runId: e.run_id,
  }),
  'model.delayed': (e) => ({
    tone: e.state === 'over' ? 'neutral' : 'warn',
    who: e.agent_id,
    what: delayWords(e),
    runId: e.run_id ?? undefined,
  }),
  'model.cooling': (e) => ({
    tone: 'warn',
    who: e.model,
    what: `is in cooldown for ${e.seconds} s after ${e.failures} failures: ${e.detail}`,
  }),
  'model.recovered': (e) => ({ tone: 'ok', who: e.model, what: 'answers again' }),
  'call.denied': (e) => ({ tone: 'warn', who: e.agent_id, what: `may not ${e.action}: ${e.reason}` }),
  'note.added': (e) => ({ tone: 'neutral', who: e.agent_id, what: e.message }),
  'budget.changed': (e) => ({ tone: 'neutral', who: e.scope_id || e.scope, what: 'has another budget' }),
  'budget.reached': (e) => ({
    tone: e.percent >= 100 ? 'bad' : 'warn',
    who: e.scope_id || e.scope,
    what:
      e.percent >= 100 && e.spent_usd < e.limit_usd
        ? `has too little left of its ${e.period} budget of ${formatUsd(e.limit_usd)} for the next model call`
        : `has used ${e.percent} % of its ${e.period} budget of ${formatUsd(e.limit_usd)}`,
  }),
  'journal.broken': (e) => ({ tone: 'bad', who: 'journal', what: `is broken: ${e.detail}` }),
  'approval.asked': (e) => ({
    tone: 'warn',
    who: e.agent_id,
    what: `asks you: ${e.summary}`,
    runId: e.run_id ?? undefined,
  }),
  'approval.settled': (e) => ({
    tone: e.state === 'done' || e.state === 'confirmed' ? 'ok' : 'neutral',
    who: e.agent_id,
    what: `has a decision: its request is ${e.state}`,
    runId: e.run_id ?? undefined,
  }),
  'agent.edited': (e) => ({
    tone: 'neutral',
    who: e.agent_id,
    what: `had its ${formatField(e.field)} changed by ${formatActor(e.actor)}`,
  }),
  'edit.undone': (e) => ({
    tone: 'neutral',
    who: e.agent_id,
    what: `had its ${formatField(e.field)} changed back by ${formatActor(e.actor)}`,
  }),
  'cron.changed': (e) => ({
    tone: e.action === 'error' ? 'bad' : 'neutral',
    who: e.agent_id,
    what: `job ${e.schedule}: ${e.action}${e.detail === '' ? '' : `, ${e.detail}`}`,
  }),
  'wall.failed': (e) => ({ tone: 'bad', who: e.wall_id, what: `failed its isolation check: ${e.detail}` }),
  'work.paused': (e) => ({
    tone: 'warn',
    who: e.agent_id ?? 'fleet',
    what: `was paused by ${formatActor(e.actor)}`,
  }),
  'work.resumed': (e) => ({
    tone: 'ok',
    who: e.agent_id ?? 'fleet',
    what: `was resumed by ${formatActor(e.actor)}`,
  }),
  'permissions.broken': (e) => ({ tone: 'bad', who: 'permissions', what: `are broken: ${e.detail}` }),
  'watch.fired': (e) => ({
    tone: 'neutral',
    who: e.agent_id,
    what: `${e.filepath} was ${e.change}`,
    runId: e.run_id,
  }),
  'watch.troubled': (e) => ({ tone: 'warn', who: e.watch, what: e.detail }),
  'watch.recovered': (e) => ({ tone: 'ok', who: e.watch, what: 'is scanned again' }),
  'watchers.broken': (e) => ({ tone: 'bad', who: 'watchers', what: `are broken: ${e.detail}` }),
  'signal.published': (e) => ({ tone: 'neutral', who: e.from, what: `published on ${e.topic}: ${e.text}` }),
  'browser.opened': (e) => ({ tone: 'neutral', who: e.agent_id, what: 'has its browser open' }),
  'browser.page': (e) => ({
    tone: 'neutral',
    who: e.agent_id,
    what: e.host === '' ? 'looks at an empty page' : `looks at ${e.host}: ${e.title}`,
  }),
  'browser.downloaded': (e) => ({
    tone: 'neutral',
    who: e.agent_id,
    what: `downloaded ${e.path} from ${e.host}`,
  }),
  'browser.handed': (e) => ({
    tone: 'warn',
    who: e.agent_id,
    what:
      e.by === null
        ? `asks for a person in its browser: ${e.host}`
        : `waits: ${formatActor(e.by)} controls its browser`,
  }),
  'browser.returned': (e) => ({ tone: 'ok', who: e.agent_id, what: returnedWords[e.how] }),
  'browser.closed': (e) => ({
    tone: 'neutral',
    who: e.agent_id,
    what: `has its browser closed: ${e.reason}`,
  }),
  'browser.failed': (e) => ({ tone: 'bad', who: e.agent_id, what: `lost its browser: ${e.reason}` }),
  'topic.subscribed': (e) => ({ tone: 'neutral', who: e.agent_id, what: `subscribed to ${e.topic}` }),
  'topic.unsubscribed': (e) => ({
    tone: 'neutral',
    who: e.agent_id,
    what: `unsubscribed from ${e.topic}`,
  }),
}

export function drawEvent<K extends Kind>(body: Of<K>): DrawnEvent {
  // The key equals the event's type, which the compiler cannot infer for a union.
  const drawing = eventDrawings[body.type] as (event: Of<K>) => DrawnEvent
  return drawing(body)
}

export function runTone(state: Of<'run.changed'>['state']): Tone {
  switch (state) {
    case 'queued':
      return 'neutral'
    case 'running':
      return 'busy'
    case 'waiting':
      return 'warn'
    case 'done':
      return 'ok'
    case 'failed':
    case 'expired':
      return 'bad'
    case 'cancelled':
      return 'neutral'
  }
}

function delayWords({ state, seconds, code }: Of<'model.delayed'>): string {
  switch (state) {
    case 'retries':
      return `calls its model again in ${seconds} s${code === null ? '' : ` (${code})`}`
    case 'silent':
      return `has waited ${seconds} s for its model`
    case 'over':
      return 'got its answer'
  }
}

const returnedWords = {
  returned: 'has its browser back',
  solved: 'has its browser back: its CAPTCHA was answered by the solver',
  expired: 'no longer waits for a person in its browser',
  lost: 'lost its browser: it was closed',
} as const

/** Above 0 for a call that broke off: its tokens and cost are bounds. */
function unsure({ unconfirmed }: { readonly unconfirmed?: string | undefined }): number {
  return unconfirmed === undefined ? 0 : 1
}

/** Names a tool with the argument that tells most of the call. */
function useWords({ name, input }: Of<'tool.started'>): string {
  const told = tellingArgument(input)
  return `uses ${name}${told === '' ? '' : `: ${told}`}`
}
