import { meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { Problem } from '@flotilla/protocol/problem'
import {
  actionWords,
  manageActions,
  outcomeWords,
  taskLimits,
  taskOutcomes,
  updateActions,
} from '@flotilla/protocol/task-actions'
import { choice, optional, text, textList, withDefault } from '../tools/parameters.ts'
import { defineTool, meshToolTimeoutMs, succeeded } from '../tools/tool.ts'
import type { Tool, ToolContext } from '../tools/tool.ts'

const taskId = text('Id of the task', { minChars: 1, maxChars: 64 })
const ownTask = optional(text('Only if it is not the task of this run', { maxChars: 64 }))
/** Names of files saved with `save_artifact`. */
export const artifactNames = withDefault(
  textList('Your saved artifacts that the other party may read', {
    maxItems: taskLimits.artifactsMax,
    maxChars: 200,
  }),
  [],
)

/**
 * Tools for tasks beside handing off and completing them. The protocol's table defines the meaning of each action.
 */
export function taskTools(): Tool[] {
  return [updateTask, readTask, reviewTaskTool(ownVerdict), manageTask]
}

const updateTask = defineTool({
  name: 'update_task',
  description: `Reports the state of a task that you were given. ${actionWords(updateActions)}. To close it use complete_task.`,
  parameters: {
    action: choice('What you say', updateActions),
    note: withDefault(text('Your words', { maxChars: taskLimits.noteMaxChars }), ''),
    artifacts: artifactNames,
    task_id: ownTask,
  },
  effect: 'mesh',
  timeoutMs: meshToolTimeoutMs,
  run: async ({ task_id: named, ...body }, context) => {
    const { mesh, signal, idempotencyKey } = context
    const params = { id: taskOf(named, context) }
    return succeeded(
      await mesh.call({ endpoint: meshAgentEndpoints.updateTask, params, body, signal, idempotencyKey }),
    )
  },
})

const readTask = defineTool({
  name: 'read_task',
  description:
    'Shows one task that you gave, were given or may route: its state, notes, questions and result.',
  parameters: { task_id: ownTask },
  effect: 'none',
  parallelSafe: true,
  timeoutMs: meshToolTimeoutMs,
  run: async ({ task_id: named }, context) => {
    const { mesh, signal } = context
    const params = { id: taskOf(named, context) }
    return succeeded(await mesh.call({ endpoint: meshAgentEndpoints.readTask, params, signal }))
  },
})

const ownVerdict = 'Judges the result of a task that you gave; its agent learns from it.'

/** The tool with which the operator and other agents review tasks; `intro` says which tasks its caller may review. */
export function reviewTaskTool(intro: string): Tool {
  return defineTool({
    name: 'review_task',
    description: `${intro} ${taskOutcomes.map((outcome) => `${outcome}: ${outcomeWords[outcome]}`).join('; ')}.`,
    parameters: {
      task_id: taskId,
      outcome: choice('Your verdict', taskOutcomes),
      comment: withDefault(text('Why, and what must change', { maxChars: taskLimits.feedbackMaxChars }), ''),
    },
    effect: 'mesh',
    timeoutMs: meshToolTimeoutMs,
    run: async ({ task_id: id, ...body }, { mesh, signal, idempotencyKey }) =>
      succeeded(
        await mesh.call({
          endpoint: meshAgentEndpoints.reviewTask,
          params: { id },
          body,
          signal,
          idempotencyKey,
        }),
      ),
  })
}

const manageTask = defineTool({
  name: 'manage_task',
  description: `Acts on a task that you gave or may route. ${actionWords(manageActions)}. You are called again with the result, as after hand_off.`,
  parameters: {
    task_id: taskId,
    action: choice('What is done', manageActions),
    note: withDefault(text('The answer or the reason', { maxChars: taskLimits.noteMaxChars }), ''),
    to: optional(text('For reroute: id of the new agent', { maxChars: 64 })),
  },
  effect: 'mesh',
  timeoutMs: meshToolTimeoutMs,
  run: async ({ task_id: id, to, ...rest }, { mesh, signal, idempotencyKey }) => {
    const body = { ...rest, ...(to === undefined ? {} : { to }) }
    const params = { id }
    return succeeded(
      await mesh.call({ endpoint: meshAgentEndpoints.manageTask, params, body, signal, idempotencyKey }),
    )
  },
})

/** Returns the id of the task that the call, or else the run, names. Problem `bad-request` if neither does. */
export function taskOf(named: string | undefined, { taskId: own }: Pick<ToolContext, 'taskId'>): string {
  const id = named ?? own
  if (id === null) {
    throw new Problem('bad-request', { detail: '`task_id`: expected the id of a task; see check_inbox.' })
  }
  return id
}
