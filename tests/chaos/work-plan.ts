import { operatorAgentId } from '@flotilla/protocol/ids'
import type { Chance } from './chance.ts'
import type { Plan, Step, StepName } from './steps.ts'

/** How a client asks, and how long it stays connected. */
export const askerWays = ['waits', 'asks-twice', 'gives-up', 'leaves'] as const
export type AskerWay = (typeof askerWays)[number]

/** One request from outside, and everything that it shall cause. */
export interface Work {
  readonly kind: 'chat' | 'webhook' | 'invoke'
  readonly agent: string
  readonly plan: Plan
  /**
   * `waits`: asks again under the same key until it has the outcome. `asks-twice`: the same, in two requests at
   * once. `gives-up`: asks once and never again. `leaves`: disconnects once the run is stored.
   */
  readonly way: AskerWay
  /** Text that is sent to the agent while it works; empty for none. */
  readonly steer: string
  /** Runs that come of it: its own and those of its tasks. */
  readonly runs: number
}

/**
 * What is killed, and when: `delayMs` after the mesh was started or ready, or after one of the next writes to its
 * database or requests to external servers. At that time an effect exists that may not be recorded yet.
 */
export interface PlannedKill {
  readonly target: 'mesh' | 'agent' | 'both'
  readonly after: 'ready' | 'start' | 'write' | 'request'
  readonly delayMs: number
  /** Writes or requests that pass before the kill. */
  readonly skip: number
}

/** The workers; with the operator they are ten agents. */
export const workers = [
  'left',
  'right',
  'third',
  'fourth',
  'fifth',
  'sixth',
  'seventh',
  'eighth',
  'ninth',
] as const

const workerSteps: readonly StepName[] = [
  'board',
  'board',
  'board-new',
  'shared',
  'signal',
  'artifact',
  'note',
  'post',
  'post',
  'command',
  'slow',
]
/** Steps that only an agent with a task can carry out. */
const taskSteps: readonly StepName[] = [...workerSteps, 'progress', 'progress', 'question']
/** Steps of a spawned agent, whose disk is deleted with it. */
const spawnedSteps: readonly StepName[] = ['board', 'board-new', 'shared', 'signal', 'post', 'progress']
const operatorSteps: readonly StepName[] = ['board', 'board-new', 'shared', 'signal', 'note', 'post']
/** Most agents and jobs that a home has room for. */
const rareMax = { create: 8, job: 30 }

/** Plans work for at least `runs` runs. The same seed gives the same work. Pure. */
export function planWork(chance: Chance, runs: number): readonly Work[] {
  const made: Work[] = []
  const left = { ...rareMax }
  const rare = (name: 'create' | 'job', often: number): Step[] => {
    if (left[name] === 0 || !chance.percent(often)) return []
    left[name] -= 1
    return [{ name }]
  }
  let planned = 0
  while (planned < runs) {
    const number = made.length + 1
    const work = chance.percent(35)
      ? handOffWork(chance, number, rare('create', 15))
      : workerWork(chance, number, rare('job', 15))
    made.push(work)
    planned += work.runs
  }
  return made
}

function workerWork(chance: Chance, number: number, more: readonly Step[]): Work {
  const agent = chance.pick(workers)
  const way = aWay(chance)
  const kind = chance.percent(15) ? 'webhook' : chance.percent(12) ? 'invoke' : 'chat'
  const marker = `${kind.charAt(0)}${number}`
  if (kind === 'invoke') {
    const name = chance.pick(['board', 'board-new', 'signal', 'post', 'note', 'artifact'] as const)
    return { kind, agent, way: 'waits', steer: '', runs: 1, plan: { marker, steps: [{ name }] } }
  }
  const others = [...toOthers(chance, agent), ...spawned(chance)]
  const steps = [...someSteps(chance, workerSteps), ...others, ...more]
  const steer = kind === 'chat' && chance.percent(20) ? `Steer s${number} is said.` : ''
  const runs = 1 + others.length
  return { kind, agent, way: kind === 'chat' ? way : 'waits', steer, runs, plan: { marker, steps } }
}

/** With some probability, a question to another agent. */
function toOthers(chance: Chance, agent: string): Step[] {
  if (chance.percent(5)) return [{ name: 'report', to: '', steps: someSteps(chance, operatorSteps) }]
  if (!chance.percent(40)) return []
  const to = chance.pick(workers.filter((one) => one !== agent))
  const name = chance.pick(['message', 'ask'] as const)
  return [{ name, to, steps: someSteps(chance, workerSteps) }]
}

/** With some probability, an agent spawned for one task. */
function spawned(chance: Chance): Step[] {
  return chance.percent(15) ? [{ name: 'spawn', to: '', steps: someSteps(chance, spawnedSteps) }] : []
}

function handOffWork(chance: Chance, number: number, more: readonly Step[]): Work {
  const count = chance.between(1, 2)
  const own = chance.percent(50) ? someSteps(chance, operatorSteps).slice(0, 2) : []
  // Only the operator creates agents, and its queue alone would delay all others.
  const agent = more.length > 0 || chance.percent(25) ? operatorAgentId : chance.pick(workers)
  const tasks = Array.from({ length: count }, () => handedOff(chance, agent)).flat()
  const plan = { marker: `h${number}`, steps: [...own, ...more, ...tasks] }
  return {
    kind: 'chat',
    agent,
    plan,
    way: aWay(chance),
    steer: '',
    runs: 1 + count,
  }
}

/** A task, with some probability followed by what happens to it before it is done. */
function handedOff(chance: Chance, from: string): Step[] {
  const others = workers.filter((one) => one !== from)
  const to = chance.pick(others)
  const task: Step = { name: 'hand-off', to, steps: someSteps(chance, taskSteps) }
  if (chance.percent(8)) return [task, { name: 'cancel' }]
  if (!chance.percent(10)) return [task]
  return [task, { name: 'reroute', to: chance.pick(others.filter((one) => one !== to)), steps: [] }]
}

function someSteps(chance: Chance, from: readonly StepName[]): Step[] {
  return Array.from({ length: chance.between(1, 4) }, () => ({ name: chance.pick(from) }))
}

function aWay(chance: Chance): AskerWay {
  if (chance.percent(60)) return 'waits'
  return chance.pick(askerWays)
}

/**
 * Plans the next kill. Most are soon after a start, where recovery and new work meet; some are during a start, and
 * some let the work continue for a while. Pure.
 */
export function planKill(chance: Chance): PlannedKill {
  const target = chance.percent(60) ? 'mesh' : chance.percent(60) ? 'agent' : 'both'
  if (target !== 'agent' && chance.percent(20)) {
    return { target, after: 'start', delayMs: chance.between(50, 3000), skip: 0 }
  }
  if (chance.percent(35)) {
    return { target, after: 'write', delayMs: chance.next() * 4, skip: chance.between(0, 60) }
  }
  if (chance.percent(25)) {
    return { target, after: 'request', delayMs: chance.next() * 20, skip: chance.between(0, 2) }
  }
  const delayMs = chance.percent(50)
    ? chance.between(0, 900)
    : chance.percent(70)
      ? chance.between(900, 4000)
      : chance.between(4000, 9000)
  return { target, after: 'ready', delayMs, skip: 0 }
}
