import { operatorAgentId } from '@flotilla/protocol/ids'
import type { JsonObject } from '@flotilla/protocol/json-value'

/**
 * Words of a plan: each names what the planned model does in one round. Each step has one effect that can be
 * counted from outside under the id of the call.
 */
export const stepNames = [
  'board',
  'board-new',
  'shared',
  'signal',
  'artifact',
  'note',
  'post',
  'command',
  'slow',
  'job',
  'create',
  'hand-off',
  'reroute',
  'cancel',
  'message',
  'ask',
  'report',
  'spawn',
  'progress',
  'question',
  'answer',
  'complete',
] as const
export type StepName = (typeof stepNames)[number]

export interface Step {
  readonly name: StepName
  /** For steps that give work to another agent: the agent, and the steps that it shall carry out. */
  readonly to?: string
  readonly steps?: readonly Step[]
}

/** The task that a step is about: the one handed off last, or the one whose agent asks. */
export interface AboutTask {
  readonly taskId: string
  /** Id of the call that asked; empty if nothing was asked. */
  readonly question: string
}

/** The work that an agent is asked to do. Its marker is unique among all plans of a fleet. */
export interface Plan {
  readonly marker: string
  readonly steps: readonly Step[]
}

export interface ToolCall {
  readonly name: string
  readonly arguments: JsonObject
}

export const sharedKey = 'output/shared'
export const topic = 'chaos'
/** File in which a worker notes its commands, below its `/data`. */
export const commandsFile = 'effects'
/** Lifetime of an agent spawned for one task. The task takes less, so that the agent ends with its task. */
const spawnedSeconds = 1200
/** Short, so that some answers come within the turn and others after it. */
const askSeconds = 3
/** A schedule that is never due during the test. */
export const farSchedule = '0 0 29 2 1'

/** Writes a plan as text: `Plan m7: board hand-off=left/post+command reroute=right/.` */
export function sayPlan({ marker, steps }: Plan): string {
  const word = ({ name, to, steps: given = [] }: Step): string =>
    to === undefined ? name : `${name}=${to}/${given.map((step) => step.name).join('+')}`
  return `Plan ${marker}:${steps.map((step) => ` ${word(step)}`).join('')}.`
}

const planPattern = /Plan ([a-z]\d+(?:-\d+)?):((?: [a-z][a-z=/+-]*)*)\./

/** Parses the plan that a text contains; null if it contains none. */
export function readPlan(text: string): Plan | null {
  const found = planPattern.exec(text)
  if (!found?.[1]) return null
  const words = (found[2] ?? '').split(' ').filter((word) => word !== '')
  return { marker: found[1], steps: words.map(readStep) }
}

function readStep(word: string): Step {
  const [name = '', rest] = word.split('=')
  if (rest === undefined) return { name: stepName(name) }
  const [to = '', given = ''] = rest.split('/')
  const steps = given.split('+').filter((one) => one !== '')
  return { name: stepName(name), to, steps: steps.map((one) => ({ name: stepName(one) })) }
}

function stepName(word: string): StepName {
  const found = stepNames.find((name) => name === word)
  if (found === undefined) throw new Error(`a plan has no step ${word}`)
  return found
}

/** Id of a call: the plan's marker, the index of the step, and the number of the answer that asked for it. */
export function callId(marker: string, index: number, answer: number): string {
  return `${marker}.${index}.${answer}`
}

/**
 * The id of a call as the model writes it. Characters that some providers refuse in ids are replaced on the way to the
 * agent, and the results of calls whose id was replaced could not be found.
 */
export function idToModel(callId: string): string {
  return callId.replaceAll('.', '_')
}

export function idFromModel(id: string): string {
  return id.replaceAll('_', '.')
}

export function partsOfCall(id: string): { readonly marker: string; readonly index: number } {
  const [marker = '', index = ''] = id.split('.')
  return { marker, index: Number(index) }
}

/** The tool call that carries out a step, built so that its effect contains the id. */
export function callFor(
  step: Step,
  made: {
    readonly id: string
    readonly marker: string
    readonly index: number
    readonly outside: string
    readonly about?: AboutTask | null
  },
): ToolCall {
  const { id } = made
  const { taskId = 'task_none', question = '' } = made.about ?? {}
  const marker = `${made.marker}-${made.index + 1}`
  const given = (end: readonly Step[]) => sayPlan({ marker, steps: [...(step.steps ?? []), ...end] })
  switch (step.name) {
    case 'board':
      return tool('write_blackboard', { key: `output/${id}`, value: { by: id } })
    case 'board-new':
      return tool('write_blackboard', { key: `output/${id}`, value: { by: id }, expected_version: 0 })
    case 'shared':
      return tool('write_blackboard', { key: sharedKey, value: { by: id } })
    case 'signal':
      return tool('publish_signal', { topic, text: id })
    case 'artifact':
      return tool('save_artifact', { name: `${id}.txt`, content: id })
    case 'note':
      return tool('notify_user', { message: id })
    case 'post':
      return tool('http_request', { url: `${made.outside}/${id}`, method: 'POST', body: id })
    case 'command':
      return tool('run_command', { command: `echo ${id} >> ${commandsFile}`, timeout_s: 60 })
    case 'slow':
      return tool('run_command', { command: `echo ${id} >> ${commandsFile}; sleep 1.5`, timeout_s: 60 })
    case 'job':
      return tool('set_cron', { schedule: farSchedule, message: id })
    case 'create':
      return tool('create_agent', { id: agentOf(id), role: 'Is made and never asked.' })
    case 'hand-off':
      return tool('hand_off', {
        to: step.to ?? '',
        title: `Link ${id}`,
        description: given([{ name: 'complete' }]),
      })
    case 'spawn':
      return tool('spawn_fleet_agent', {
        role: `Link ${id}`,
        // The parent is shown the first line as the title.
        task: `Do what follows.\n${given([{ name: 'complete' }])}`,
        permissions: { blackboard_write: ['output/**'], can_publish: [topic] },
        ttl: spawnedSeconds,
      })
    case 'message':
      return tool('message_agent', { to: step.to ?? '', text: `Link ${id}. ${given([])}` })
    case 'report':
      return tool('message_agent', { to: operatorAgentId, text: `Link ${id}. ${given([])}` })
    case 'ask':
      return tool('message_agent', {
        to: step.to ?? '',
        text: `Link ${id}. ${given([])}`,
        wait_seconds: askSeconds,
      })
    case 'progress':
      return tool('update_task', { action: 'progress', note: `Far by ${id}.` })
    case 'question':
      return tool('update_task', { action: 'block', note: `Asked by ${id}.` })
    case 'answer':
      return tool('manage_task', {
        task_id: taskId,
        action: 'answer',
        note: `To ${question}, answered by ${id}.`,
      })
    case 'reroute':
      return tool('manage_task', {
        task_id: taskId,
        action: 'reroute',
        to: step.to ?? '',
        note: `Given away by ${id}.`,
      })
    case 'cancel':
      return tool('manage_task', { task_id: taskId, action: 'cancel', note: `Ended by ${id}.` })
    case 'complete':
      return tool('complete_task', { summary: `All of ${made.marker} is done.` })
  }
}

/** Id of the agent that a call creates; agent ids have no dots. */
export function agentOf(id: string): string {
  return `made-${id.replaceAll('.', '-')}`
}

function tool(name: string, args: JsonObject): ToolCall {
  return { name, arguments: args }
}
