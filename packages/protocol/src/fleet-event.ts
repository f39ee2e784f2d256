import * as z from 'zod/mini'
import { approvalStates } from './agent-edit.ts'
import { agentStates } from './agent-lifecycle.ts'
import { changedFilesFields } from './changed-files.ts'
import { jsonValueSchema } from './json-value.ts'
import { runOutcomeSchema, runStates } from './run.ts'
import { shownPicturesSchema } from './shown-picture.ts'
import { steerStates } from './steer.ts'

const agentId = z.string()
/** The sub-agent that made the call; absent if the agent made it itself. */
const subagent = z.optional(z.string())

/** Events for people's clients. Names are noun.past-verb; the dashboard compiles only if it draws each of them. */
export const fleetEventBodySchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('agent.created'), agent_id: agentId, role: z.string() }),
  z.strictObject({ type: z.literal('agent.started'), agent_id: agentId, ready_ms: z.number() }),
  z.strictObject({ type: z.literal('agent.stopped'), agent_id: agentId, reason: z.string() }),
  z.strictObject({
    type: z.literal('agent.died'),
    agent_id: agentId,
    exit_code: z.number(),
    out_of_memory: z.boolean(),
  }),
  /** An agent created this agent for one task. It ends by itself, at `ends_at` at the latest. */
  z.strictObject({
    type: z.literal('agent.spawned'),
    agent_id: agentId,
    parent_id: agentId,
    ends_at: z.number(),
  }),
  /** The agent's lifecycle state changed; `reason` says why the agent stops, or what its problem is. */
  z.strictObject({
    type: z.literal('agent.changed'),
    agent_id: agentId,
    from: z.enum(agentStates),
    to: z.enum(agentStates),
    reason: z.nullable(z.string()),
  }),
  /** The agent runs, but not exactly as requested. */
  z.strictObject({ type: z.literal('agent.warned'), agent_id: agentId, message: z.string() }),
  z.strictObject({
    type: z.literal('run.changed'),
    agent_id: agentId,
    run_id: z.string(),
    parent_id: z.nullable(z.string()),
    state: z.enum(runStates),
    outcome: z.nullable(runOutcomeSchema),
  }),
  z.strictObject({
    type: z.literal('steer.changed'),
    agent_id: agentId,
    steer_id: z.string(),
    /** The run that the steer is attached to, or else the run that it became. */
    run_id: z.string(),
    state: z.enum(steerStates),
    text: z.string(),
    step: z.nullable(z.number()),
    became_run_id: z.nullable(z.string()),
  }),
  z.strictObject({
    type: z.literal('text.streamed'),
    agent_id: agentId,
    run_id: z.string(),
    content: z.string(),
    /** The number of the answer in its run; absent from agents of older releases. */
    answer: z.optional(z.int()),
    /** True for the first piece of an answer; pieces of the same answer before it belong to an abandoned attempt. */
    begins: z.optional(z.literal(true)),
  }),
  z.strictObject({
    type: z.literal('tool.started'),
    agent_id: agentId,
    run_id: z.string(),
    step: z.number(),
    name: z.string(),
    input: jsonValueSchema,
    subagent,
  }),
  z.strictObject({
    type: z.literal('tool.ended'),
    agent_id: agentId,
    run_id: z.string(),
    step: z.number(),
    name: z.string(),
    output: z.string(),
    ok: z.boolean(),
    pictures: shownPicturesSchema,
    subagent,
  }),
  /** What an attempt of the run did to the files below /data. Missing if the attempt called no tool or broke off. */
  z.strictObject({
    type: z.literal('files.changed'),
    agent_id: agentId,
    run_id: z.string(),
    ...changedFilesFields,
  }),
  z.strictObject({
    type: z.literal('task.changed'),
    task_id: z.string(),
    assignee: z.string(),
    creator: z.string(),
    title: z.string(),
    state: z.string(),
    /** The action on the task; missing in events that older releases stored. */
    action: z.optional(z.string()),
  }),
  /** A project was created, archived, restored or deleted, or one of its texts was written. */
  z.strictObject({
    type: z.literal('project.changed'),
    project: z.string(),
    action: z.string(),
    actor: z.string(),
  }),
  /** An agent sent a question to another one, or got an answer. */
  z.strictObject({
    type: z.literal('message.changed'),
    message_id: z.string(),
    from: agentId,
    to: agentId,
    capability: z.nullable(z.string()),
    state: z.string(),
    text: z.string(),
  }),
  z.strictObject({
    type: z.literal('blackboard.written'),
    key: z.string(),
    version: z.number(),
    written_by: z.string(),
  }),
  z.strictObject({ type: z.literal('blackboard.deleted'), key: z.string(), deleted_by: z.string() }),
  z.strictObject({
    type: z.literal('artifact.saved'),
    agent_id: agentId,
    name: z.string(),
    size_bytes: z.number(),
  }),
  z.strictObject({
    type: z.literal('model.called'),
    agent_id: agentId,
    run_id: z.nullable(z.string()),
    model: z.string(),
    /** Missing in events that older releases stored. */
    operation: z.optional(z.enum(['chat', 'embeddings', 'transcription'])),
    tokens: z.number(),
    /** Missing in events that older releases stored. */
    prompt_tokens: z.optional(z.number()),
    completion_tokens: z.optional(z.number()),
    /**
     * Prompt tokens that the provider read from its cache and wrote to it; all three are missing without such
     * tokens.
     */
    cached_tokens: z.optional(z.number()),
    cache_write_tokens: z.optional(z.number()),
    /**
     * How much more the call would have cost without the cache; negative if its writes cost more than its reads
     * saved.
     */
    cache_saved_usd: z.optional(z.number()),
    /**
     * The part of the prompt that changed since the previous call of the conversation, so that the provider's cache
     * did not apply.
     */
    cache_break: z.optional(z.string().check(z.maxLength(64))),
    cost_usd: z.number(),
    /** Why the real cost is unknown; `cost_usd` is then the whole reservation. */
    unconfirmed: z.optional(z.string()),
    duration_ms: z.number(),
    /** When the call began, Unix milliseconds. Published after settlement. Missing in events of older releases. */
    started_at: z.optional(z.number()),
  }),
  /** Tokens of calls that a harness reports and that did not go through the mesh; their price is unknown. */
  z.strictObject({
    type: z.literal('tokens.reported'),
    agent_id: agentId,
    run_id: z.string(),
    prompt_tokens: z.number(),
    completion_tokens: z.number(),
  }),
  /**
   * A model call delays its run: the call is retried after `seconds` because of `code` (`retries`), or its provider
   * was `silent` for `seconds`. `over` follows the answer; any later run event but a steer implies it. Not stored.
   */
  z.strictObject({
    type: z.literal('model.delayed'),
    agent_id: agentId,
    run_id: z.nullable(z.string()),
    state: z.enum(['retries', 'silent', 'over']),
    seconds: z.number(),
    /** Names from the owner's settings; null if the agent itself waits and does not know them. */
    model: z.nullable(z.string()),
    provider: z.nullable(z.string()),
    /** The HTTP status of the provider's answer; null if it did not answer. */
    provider_status: z.nullable(z.int()),
    code: z.nullable(z.string()),
  }),
  /** A model failed and is in cooldown; another model may answer in its place. */
  z.strictObject({
    type: z.literal('model.cooling'),
    model: z.string(),
    seconds: z.number(),
    /** The number of consecutive failures. */
    failures: z.number(),
    code: z.string(),
    detail: z.string(),
  }),
  z.strictObject({ type: z.literal('model.recovered'), model: z.string() }),
  z.strictObject({
    type: z.literal('call.denied'),
    agent_id: agentId,
    action: z.string(),
    reason: z.string(),
  }),
  z.strictObject({
    type: z.literal('note.added'),
    note_id: z.string(),
    agent_id: agentId,
    message: z.string(),
    /** The author of the note, if it is not the agent. */
    by: z.optional(z.literal('mesh')),
  }),
  z.strictObject({
    type: z.literal('budget.changed'),
    scope: z.enum(['agent', 'project', 'fleet']),
    scope_id: z.string(),
    daily_usd: z.nullable(z.number()),
    monthly_usd: z.nullable(z.number()),
  }),
  /** Sent once per period at 80 % of a budget, and once (100) when all is spent or too little is left for a call. */
  z.strictObject({
    type: z.literal('budget.reached'),
    scope: z.string(),
    scope_id: z.string(),
    period: z.string(),
    percent: z.number(),
    limit_usd: z.number(),
    spent_usd: z.number(),
  }),
  z.strictObject({ type: z.literal('journal.broken'), detail: z.string() }),
  z.strictObject({
    type: z.literal('approval.asked'),
    approval_id: z.string(),
    agent_id: agentId,
    run_id: z.nullable(z.string()),
    summary: z.string(),
    /** Equal actions that were done or requested lately, a sentence each; absent without any. */
    repeats: z.optional(z.array(z.string())),
    expires_at: z.number(),
  }),
  z.strictObject({
    type: z.literal('approval.settled'),
    approval_id: z.string(),
    agent_id: agentId,
    run_id: z.nullable(z.string()),
    state: z.enum(approvalStates),
    detail: z.string(),
  }),
  z.strictObject({
    type: z.literal('agent.edited'),
    agent_id: agentId,
    field: z.string(),
    actor: z.string(),
    undo_token: z.string(),
  }),
  z.strictObject({
    type: z.literal('edit.undone'),
    agent_id: agentId,
    field: z.string(),
    actor: z.string(),
    undo_token: z.string(),
  }),
  /** A cron job was made or changed, a due time was fired or skipped, or its run ended. */
  z.strictObject({
    type: z.literal('cron.changed'),
    agent_id: agentId,
    job_id: z.string(),
    action: z.enum([
      'created',
      'updated',
      'paused',
      'resumed',
      'removed',
      'started',
      'skipped',
      'executed',
      'error',
    ]),
    schedule: z.string(),
    detail: z.string(),
  }),
  z.strictObject({ type: z.literal('wall.failed'), wall_id: z.string(), detail: z.string() }),
  /** The kill switch; `agent_id` is null for the whole fleet. */
  z.strictObject({
    type: z.literal('work.paused'),
    agent_id: z.nullable(agentId),
    reason: z.string(),
    actor: z.string(),
  }),
  z.strictObject({
    type: z.literal('work.resumed'),
    agent_id: z.nullable(agentId),
    reason: z.string(),
    actor: z.string(),
  }),
  z.strictObject({ type: z.literal('permissions.broken'), detail: z.string() }),
  /** A file was added or changed, and started a run. */
  z.strictObject({
    type: z.literal('watch.fired'),
    watch: z.string(),
    agent_id: agentId,
    run_id: z.string(),
    filepath: z.string(),
    change: z.enum(['added', 'modified']),
  }),
  z.strictObject({ type: z.literal('watch.troubled'), watch: z.string(), detail: z.string() }),
  z.strictObject({ type: z.literal('watch.recovered'), watch: z.string() }),
  z.strictObject({ type: z.literal('watchers.broken'), detail: z.string() }),
  z.strictObject({
    type: z.literal('signal.published'),
    signal_id: z.string(),
    topic: z.string(),
    from: z.string(),
    /** The beginning of the signal's text. */
    text: z.string(),
    delivered: z.int(),
    /** Subscribers that did not get the signal because their inbox is full. */
    full: z.array(z.string()),
  }),
  /** The browser of an agent is open. */
  z.strictObject({ type: z.literal('browser.opened'), agent_id: agentId }),
  /** The browser shows another page: address without its query, title in the page's own words. */
  z.strictObject({
    type: z.literal('browser.page'),
    agent_id: agentId,
    url: z.string(),
    title: z.string(),
    host: z.string(),
  }),
  z.strictObject({
    type: z.literal('browser.downloaded'),
    agent_id: agentId,
    path: z.string(),
    size_bytes: z.number(),
    host: z.string(),
  }),
  /** A person controls the browser, or, if `by` is null, is asked to; `solver` answers a CAPTCHA. */
  z.strictObject({
    type: z.literal('browser.handed'),
    agent_id: agentId,
    kind: z.enum(['person', 'captcha']),
    by: z.nullable(z.string()),
    host: z.string(),
  }),
  z.strictObject({
    type: z.literal('browser.returned'),
    agent_id: agentId,
    how: z.enum(['returned', 'solved', 'expired', 'lost']),
  }),
  z.strictObject({ type: z.literal('browser.closed'), agent_id: agentId, reason: z.string() }),
  /** The browser failed to start, or ended unexpectedly. */
  z.strictObject({ type: z.literal('browser.failed'), agent_id: agentId, reason: z.string() }),
  z.strictObject({ type: z.literal('topic.subscribed'), topic: z.string(), agent_id: agentId }),
  z.strictObject({ type: z.literal('topic.unsubscribed'), topic: z.string(), agent_id: agentId }),
])
export type FleetEventBody = z.infer<typeof fleetEventBodySchema>

/** Events that are sent to connected subscribers and not stored: they are frequent and have no value afterwards. */
const passing: readonly FleetEventBody['type'][] = ['text.streamed', 'model.delayed']

export function isPassing(body: FleetEventBody): boolean {
  return passing.includes(body.type)
}

/** An event as it is sent: the body with its sequence number. The numbers rise by one, across restarts too. */
export interface FleetEvent {
  readonly seq: number
  readonly at: number
  readonly body: FleetEventBody
}
export const fleetEventSchema = z.strictObject({ seq: z.int(), at: z.number(), body: fleetEventBodySchema })

/** The server-sent event that reports to a client which events it misses. It has no sequence number. */
export const eventsDroppedName = 'events.dropped'
/** The client requested events from `since` (excluded) to `dropped_until`, which are no longer stored. */
export const eventsDroppedSchema = z.strictObject({ since: z.int(), dropped_until: z.int() })
export type EventsDropped = z.infer<typeof eventsDroppedSchema>
