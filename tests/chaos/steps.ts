import type { JsonObject } from '@flotilla/protocol/json-value'

/**
 * What a model of the chaos does in one round, by the word that stands for it in a plan. Each has one effect that can be
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
  'complete',
] as const
export type StepName = (typeof stepNames)[number]

export interface Step {
  readonly name: StepName
  /** Of a hand-off: whom it is given to, and what is to be done there. */
  readonly to?: string
  readonly steps?: readonly Step[]
}

/** What an agent is asked to do. Its marker is said once in the whole life of a fleet. */
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
/** Where a worker notes its commands, below its `/data`. */
export const commandsFile = 'effects'
/** A schedule that never comes while the chaos lasts. */
export const farSchedule = '0 0 29 2 1'

/** A plan as it is said: `Plan m7: board hand-off=left/post+command.` */
export function sayPlan({ marker, steps }: Plan): string {
  const word = ({ name, to, steps: given = [] }: Step): string =>
    to === undefined ? name : `${name}=${to}/${given.map((step) => step.name).join('+')}`
  return `Plan ${marker}:${steps.map((step) => ` ${word(step)}`).join('')}.`
}

const planPattern = /Plan ([a-z]\d+(?:-\d+)?):((?: [a-z][a-z=/+-]*)*)\./

/** The plan that a text holds, or null. */
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
  return { name: stepName(name), to, steps: given.split('+').map((one) => ({ name: stepName(one) })) }
}

function stepName(word: string): StepName {
  const found = stepNames.find((name) => name === word)
  if (found === undefined) throw new Error(`a plan has no step ${word}`)
  return found
}

/** Which step of which plan a call was, and the answer of the model that asked for it. */
export function callId(marker: string, index: number, answer: number): string {
  return `${marker}.${index}.${answer}`
}

export function partsOfCall(id: string): { readonly marker: string; readonly index: number } {
  const [marker = '', index = ''] = id.split('.')
  return { marker, index: Number(index) }
}

/** The tool call that makes a step, so that its effect bears the id. */
export function callFor(
  step: Step,
  made: { readonly id: string; readonly marker: string; readonly index: number; readonly outside: string },
): ToolCall {
  const { id } = made
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
    case 'hand-off': {
      const marker = `${made.marker}-${made.index + 1}`
      const plan = { marker, steps: [...(step.steps ?? []), { name: 'complete' as const }] }
      return tool('hand_off', { to: step.to ?? '', title: `Link ${id}`, description: sayPlan(plan) })
    }
    case 'complete':
      return tool('complete_task', { summary: `All of ${made.marker} is done.` })
  }
}

/** Ids of agents have no dots. */
export function agentOf(id: string): string {
  return `made-${id.replaceAll('.', '-')}`
}

function tool(name: string, args: JsonObject): ToolCall {
  return { name, arguments: args }
}
