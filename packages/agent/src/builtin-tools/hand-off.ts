import { steerLimits } from '@flotilla/protocol/steer-limits'
import { meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { actionWords, completeStatuses, taskLimits } from '@flotilla/protocol/task-actions'
import {
  anyJson,
  choice,
  integer,
  jsonObject,
  number,
  optional,
  text,
  textList,
  withDefault,
} from '../tools/parameters.ts'
import { defineTool, meshToolTimeoutMs, succeeded } from '../tools/tool.ts'
import type { Tool } from '../tools/tool.ts'
import { artifactNames, taskOf } from './tasks.ts'

/** Tools for working together: list agents, hand off a task, steer its agent, see open tasks, close a task. */
export function handOffTools(): Tool[] {
  return [listAgents, handOff, steerAgent, checkInbox, completeTask]
}

const listAgents = defineTool({
  name: 'list_agents',
  description:
    'Lists the agents that you may message or give tasks to, with their roles and declared capabilities.',
  parameters: {},
  effect: 'none',
  parallelSafe: true,
  timeoutMs: meshToolTimeoutMs,
  run: async (_values, { mesh, signal }) =>
    succeeded(await mesh.call({ endpoint: meshAgentEndpoints.agents, signal })),
})

const handOff = defineTool({
  name: 'hand_off',
  description:
    'Gives a task to another agent and returns at once. You are called again here with its result or question: end your turn when nothing else is to be done. Never give a saved task twice.',
  parameters: {
    to: text('Id of the agent', { minChars: 1, maxChars: 64 }),
    title: text('The task in one line', { minChars: 1, maxChars: 200 }),
    description: withDefault(
      text('All that it needs: it knows nothing of this conversation', { maxChars: 50_000 }),
      '',
    ),
    data: withDefault(jsonObject('Structured input'), {}),
    max_tokens: optional(integer('Tokens it may use', { min: 1, max: 1_000_000_000 })),
    max_cost_usd: optional(number('US dollars it may use', { min: 0.000001, max: 30_000 })),
    max_turns: optional(integer('Model rounds it may use', { min: 1, max: 100_000 })),
    needs: withDefault(
      textList('Ids of tasks that must be done before', {
        maxItems: taskLimits.needsMax,
        maxChars: 64,
      }),
      [],
    ),
    artifacts: artifactNames,
  },
  effect: 'mesh',
  timeoutMs: meshToolTimeoutMs,
  run: async (values, { mesh, signal, idempotencyKey }) => {
    const { max_tokens: tokens, max_cost_usd: usd, max_turns: turns, ...rest } = values
    const capped = tokens !== undefined || usd !== undefined
    const budget = { token_budget: { max_tokens: tokens ?? null, max_cost_usd: usd ?? null } }
    const body = {
      ...rest,
      ...(capped ? budget : {}),
      ...(turns === undefined ? {} : { max_turns: turns }),
    }
    return succeeded(await mesh.call({ endpoint: meshAgentEndpoints.handOff, body, signal, idempotencyKey }))
  },
})

const steerAgent = defineTool({
  name: 'steer_agent',
  description:
    'Sends a message, such as a correction, to an agent that works on your task; the agent reads it before its next step. It is not a new task: for that use hand_off.',
  parameters: {
    to: text('Id of the agent', { minChars: 1, maxChars: 64 }),
    text: text('The message', { minChars: 1, maxChars: steerLimits.maxChars }),
  },
  effect: 'mesh',
  timeoutMs: meshToolTimeoutMs,
  run: async ({ to: id, ...body }, { mesh, signal, idempotencyKey }) =>
    succeeded(
      await mesh.call({
        endpoint: meshAgentEndpoints.steer,
        params: { id },
        body,
        signal,
        idempotencyKey,
      }),
    ),
})

const checkInbox = defineTool({
  name: 'check_inbox',
  description: 'Lists your open tasks, and the state of the tasks that you gave to other agents.',
  parameters: {},
  effect: 'none',
  parallelSafe: true,
  timeoutMs: meshToolTimeoutMs,
  run: async (_values, { mesh, signal }) =>
    succeeded(await mesh.call({ endpoint: meshAgentEndpoints.inbox, signal })),
})

const completeNames = ['done', 'failed', 'blocked'] as const satisfies (keyof typeof completeStatuses)[]
const completeWords = completeNames
  .map((status) => actionWords([completeStatuses[status]]).replace(/^\w+/, status))
  .join('; ')

const completeTask = defineTool({
  name: 'complete_task',
  description: `Closes your task; its giver gets summary and result. ${completeWords}.`,
  parameters: {
    summary: text('What you did or found', { minChars: 1, maxChars: 20_000 }),
    result: withDefault(anyJson('Result, any JSON'), null),
    status: withDefault(choice('How it ended', completeNames), 'done'),
    artifacts: artifactNames,
    promote: withDefault(jsonObject('Blackboard keys and values to write when done'), {}),
    task_id: optional(text('Only for another task than that of this run', { maxChars: 64 })),
  },
  effect: 'mesh',
  timeoutMs: meshToolTimeoutMs,
  run: async ({ task_id: named, promote, ...body }, { mesh, signal, idempotencyKey, taskId }) => {
    const id = taskOf(named, { taskId })
    const call = { endpoint: meshAgentEndpoints.completeTask, params: { id }, body, signal, idempotencyKey }
    const output = await mesh.call(call)
    const { artifacts: _attached, ...stated } = body
    return { output, ok: true, ...(id === taskId ? { completion: { taskId: id, ...stated, promote } } : {}) }
  },
})
