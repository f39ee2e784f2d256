import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { Clock } from '@flotilla/protocol/clock'
import { editableFiles, findWorkspaceFile } from '@flotilla/protocol/workspace-file'
import type { Endpoint } from '@flotilla/protocol/endpoint'
import type { JsonValue } from '@flotilla/protocol/json-value'
import { limits } from '@flotilla/protocol/limits'
import {
  operatorArchiveEndpoints,
  operatorEndpoints,
  operatorViewEndpoints,
} from '@flotilla/protocol/operator-endpoints'
import { operatorTools } from '@flotilla/protocol/operator-tools'
import type { OperatorToolName } from '@flotilla/protocol/operator-tools'
import { Problem } from '@flotilla/protocol/problem'
import { taskStates } from '@flotilla/protocol/task-actions'
import type { DataFiles } from '../files/data-files.ts'
import { observationLinesMax, observationMaxChars, saveObservation } from '../workspace/observations.ts'
import {
  anyJson,
  choice,
  integer,
  jsonObject,
  number,
  optional,
  text,
  withDefault,
} from '../tools/parameters.ts'
import { reviewTaskTool } from './tasks.ts'
import { defineTool, meshToolTimeoutMs, succeeded } from '../tools/tool.ts'
import type { Tool, ToolContext } from '../tools/tool.ts'

/** Where the operator stores its own notes on disk. */
export interface OwnNotes {
  readonly files: DataFiles
  readonly clock: Clock
}

const ownFileTimeoutMs = 30_000
const agentId = text('Id of the agent', { minChars: 1, maxChars: 64 })
const reason = withDefault(text('Why, for the record', { maxChars: 500 }), '')
const limit = optional(integer('How many', { min: 1, max: 200 }))
const fields = ['role', 'model', 'budget', 'permissions', ...editableFiles] as const

/**
 * The operator's fleet tools by name. The protocol's table names the tools and the permission of each; a tool
 * missing on either side is a compile error. The mesh decides and enforces the ceiling.
 */
export function operatorToolTable(own: OwnNotes): Readonly<Record<OperatorToolName, Tool>> {
  return {
    inspect_fleet: view('inspect_fleet', {}, ({ mesh, signal }) =>
      mesh.call({ endpoint: operatorEndpoints.agents, signal }),
    ),
    inspect_agent: inspectAgent,
    list_tasks: view(
      'list_tasks',
      {
        agent: optional(text('Only tasks that this agent gave or was given', { maxChars: 64 })),
        project: optional(text('Only tasks of this project', { maxChars: 64 })),
        state: optional(choice('Only tasks that are', taskStates)),
        limit,
      },
      ({ mesh, signal }, query) =>
        mesh.call({ endpoint: operatorViewEndpoints.tasks, query: texts(query), signal }),
    ),
    list_stale_tasks: view(
      'list_stale_tasks',
      { hours: withDefault(integer('Hours without any change', { min: 1, max: 720 }), 24) },
      ({ mesh, signal }, { hours }) =>
        mesh.call({ endpoint: operatorViewEndpoints.staleTasks, query: { hours: String(hours) }, signal }),
    ),
    review_task: reviewTaskTool(summaryOf('review_task')),
    read_audit: view(
      'read_audit',
      {
        after: optional(integer('Rows after this number; default: the newest', { min: 0, max: 1e15 })),
        limit,
      },
      ({ mesh, signal }, query) =>
        mesh.call({ endpoint: operatorViewEndpoints.audit, query: texts(query), signal }),
    ),
    create_agent: createAgent,
    restart_agent: act('restart_agent', { agent_id: agentId }, ({ agent_id: id }) => ({
      endpoint: operatorEndpoints.agentRestart,
      params: { id },
      body: {},
    })),
    stop_agent: act('stop_agent', { agent_id: agentId }, ({ agent_id: id }) => ({
      endpoint: operatorEndpoints.agentStop,
      params: { id },
      body: {},
    })),
    hibernate_agent: act('hibernate_agent', { agent_id: agentId }, ({ agent_id: id }) => ({
      endpoint: operatorEndpoints.agentHibernate,
      params: { id },
      body: {},
    })),
    archive_agent: act('archive_agent', { agent_id: agentId }, ({ agent_id: id }) => ({
      endpoint: operatorArchiveEndpoints.archive,
      params: { id },
      body: {},
    })),
    restore_agent: act('restore_agent', { agent_id: agentId }, ({ agent_id: id }) => ({
      endpoint: operatorArchiveEndpoints.unarchive,
      params: { id },
      body: {},
    })),
    delete_agent: act('delete_agent', { agent_id: agentId, reason }, ({ agent_id: id, ...body }) => ({
      endpoint: operatorEndpoints.agentDelete,
      params: { id },
      body,
    })),
    list_pending: view('list_pending', {}, ({ mesh, signal }) =>
      mesh.call({ endpoint: operatorEndpoints.pending, signal }),
    ),
    cancel_pending: act(
      'cancel_pending',
      { id: text('Id of the pending request', { minChars: 1, maxChars: 64 }) },
      ({ id }) => ({ endpoint: operatorEndpoints.pendingCancel, params: { id }, body: {} }),
    ),
    edit_agent: editAgent,
    undo_change: act(
      'undo_change',
      { undo_token: text('The undo_token of your change', { minChars: 1, maxChars: 64 }) },
      ({ undo_token: token }) => ({ endpoint: operatorEndpoints.changeUndo, params: { token }, body: {} }),
    ),
    list_changes: view('list_changes', { limit }, ({ mesh, signal }, query) =>
      mesh.call({ endpoint: operatorEndpoints.changes, query: texts(query), signal }),
    ),
    set_heartbeat: act(
      'set_heartbeat',
      {
        agent_id: agentId,
        every: text('Such as 30m, 2h or 1d, or off', { minChars: 2, maxChars: 20 }),
      },
      ({ agent_id: id, every }) => ({
        endpoint: operatorEndpoints.agentHeartbeat,
        params: { id },
        body: { schedule: every === 'off' ? null : `every ${every.replace(/^every\s+/, '')}` },
      }),
    ),
    list_templates: view('list_templates', {}, ({ mesh, signal }) =>
      mesh.call({ endpoint: operatorEndpoints.templates, signal }),
    ),
    apply_template: act(
      'apply_template',
      { name: text('Name of the template', { minChars: 1, maxChars: 64 }) },
      ({ name }) => ({ endpoint: operatorEndpoints.templateApply, params: { name }, body: {} }),
    ),
    list_queue: view(
      'list_queue',
      { agent_id: agentId, limit },
      ({ mesh, signal }, { agent_id: id, ...query }) =>
        mesh.call({ endpoint: operatorEndpoints.agentRuns, params: { id }, query: texts(query), signal }),
    ),
    read_costs: view('read_costs', {}, ({ mesh, signal }) =>
      mesh.call({ endpoint: operatorEndpoints.budgets, signal }),
    ),
    read_messages: view(
      'read_messages',
      { agent_id: optional(text('Only messages from or to this agent', { maxChars: 64 })), limit },
      ({ mesh, signal }, { agent_id: agent, ...query }) =>
        mesh.call({
          endpoint: operatorEndpoints.messages,
          query: { ...texts(query), ...(agent === undefined ? {} : { agent }) },
          signal,
        }),
    ),
    save_observations: defineTool({
      name: 'save_observations',
      description: `${summaryOf('save_observations')} The newest ${observationLinesMax} are kept.`,
      parameters: {
        text: text('Your observations, with figures and names, in a few sentences', {
          minChars: 1,
          maxChars: observationMaxChars,
        }),
      },
      effect: 'local',
      timeoutMs: ownFileTimeoutMs,
      run: async (values) => succeeded({ kept: await saveObservation(own, values.text) }),
    }),
  }
}

/**
 * The tools that the mesh lets the operator use now; empty when the mesh does not answer with a list. Tools that the
 * mesh would deny are not offered.
 */
export async function allowedOperatorTools(
  context: Pick<ToolContext, 'mesh' | 'signal'>,
  own: OwnNotes,
): Promise<readonly Tool[]> {
  const { mesh, signal } = context
  const reply = await mesh.call({ endpoint: operatorEndpoints.tools, signal })
  const names: unknown = isJsonObject(reply) ? reply['tools'] : null
  if (!Array.isArray(names)) return []
  const table = operatorToolTable(own)
  return operatorTools.filter(({ name }) => names.includes(name)).map(({ name }) => table[name])
}

type Shape = Parameters<typeof defineTool>[0]['parameters']
type Options<S extends Shape> = Parameters<typeof defineTool<S>>[0]
type Read<S extends Shape> = Parameters<Options<S>['run']>[0]

/** The descriptions for the model come from the bootstrap files. */
function summaryOf(name: OperatorToolName): string {
  const summary = operatorTools.find((tool) => tool.name === name)?.summary ?? ''
  return `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`
}

function view<S extends Shape>(
  name: OperatorToolName,
  parameters: S,
  ask: (context: ToolContext, values: Read<S>) => Promise<unknown>,
): Tool {
  return defineTool({
    name,
    description: summaryOf(name),
    parameters,
    effect: 'none',
    parallelSafe: true,
    timeoutMs: meshToolTimeoutMs,
    run: async (values, context) => succeeded(await ask(context, values)),
  })
}

function act<S extends Shape>(
  name: OperatorToolName,
  parameters: S,
  call: (values: Read<S>) => {
    endpoint: Endpoint
    params?: Record<string, string>
    body: unknown
  },
): Tool {
  return defineTool({
    name,
    description: `${summaryOf(name)}${more[name] ?? ''}`,
    parameters,
    effect: 'mesh',
    timeoutMs: meshToolTimeoutMs,
    run: async (values, { mesh, signal, idempotencyKey }) =>
      succeeded(await mesh.call({ ...call(values), signal, idempotencyKey, timeoutMs: meshToolTimeoutMs })),
  })
}

const more: Partial<Record<OperatorToolName, string>> = {
  delete_agent:
    ' It returns at once. End your turn with one sentence that says what the person has to confirm; you are called again with the decision. It cannot be confirmed in a conversation.',
  edit_agent:
    ' It takes effect at once and can be undone for some minutes with undo_change. Rights that only a person may grant (can_spawn, can_use_wallet, more APIs, credentials, control rights, higher wallet limits or a higher budget) are rejected, also when you undo a change; ask the person to set them.',
}

const inspectAgent = view(
  'inspect_agent',
  { agent_id: agentId, file: optional(choice('One of its texts', editableFiles)) },
  async ({ mesh, signal }, { agent_id: id, file }) => {
    const config = await mesh.call({ endpoint: operatorEndpoints.agentConfig, params: { id }, signal })
    if (file === undefined) return config
    const params = { id, file }
    return { config, text: await mesh.call({ endpoint: operatorEndpoints.agentFile, params, signal }) }
  },
)

const createAgent = act(
  'create_agent',
  {
    id: agentId,
    role: text('What it is for, in one or two sentences', { minChars: 1, maxChars: 500 }),
    instructions: withDefault(
      text('How it works: its INSTRUCTIONS.md', {
        maxChars: findWorkspaceFile('INSTRUCTIONS.md')?.maxChars ?? 0,
      }),
      '',
    ),
    model: optional(text('provider/model; default: the model of the fleet', { maxChars: 200 })),
    daily_usd: optional(
      number('Budget per day in US dollars, at most the default', {
        min: limits.budgetDailyUsd.min,
        max: limits.budgetDailyUsd.default,
      }),
    ),
    monthly_usd: optional(
      number('Budget per month in US dollars, at most the default', {
        min: limits.budgetMonthlyUsd.min,
        max: limits.budgetMonthlyUsd.default,
      }),
    ),
    permissions: withDefault(
      jsonObject('Fields of its permission record that differ from a worker’s defaults'),
      {},
    ),
  },
  ({ daily_usd, monthly_usd, ...body }) => ({
    endpoint: operatorEndpoints.agentCreate,
    body: { ...body, ...budgetOf(daily_usd, monthly_usd) },
  }),
)

function budgetOf(daily: number | undefined, monthly: number | undefined) {
  if (daily === undefined && monthly === undefined) return {}
  if (daily === undefined || monthly === undefined) {
    throw new Problem('bad-request', { detail: 'Give daily_usd and monthly_usd together, or neither.' })
  }
  return { budget: { daily_usd: daily, monthly_usd: monthly } }
}

const editAgent = act(
  'edit_agent',
  {
    agent_id: agentId,
    field: choice('What to change', fields),
    value: anyJson(
      'The new value: a text for role, model and files (model null: the model of the fleet); {"daily_usd":1} or {"monthly_usd":20} or both for budget; {"field":value} for permissions, lists whole',
    ),
    reason,
  },
  ({ agent_id: id, field, value, reason: why }) => ({
    endpoint: operatorEndpoints.agentEdit,
    params: { id },
    body: { field, value: editValue(field, value), reason: why },
  }),
)

/** Returns the value of an edit. Models sometimes write an object as text, which is then parsed. */
function editValue(field: (typeof fields)[number], value: JsonValue): unknown {
  const read =
    typeof value === 'string' && (field === 'budget' || field === 'permissions') ? parse(value) : value
  return field === 'permissions' ? { set: read } : read
}

function parse(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

function texts(query: Readonly<Record<string, number | string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  )
}
