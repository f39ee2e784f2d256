import { operatorAgentId } from '@flotilla/protocol/ids'
import type { Chance } from './chance.ts'
import type { Plan, Step, StepName } from './steps.ts'

/** How somebody asks, and how long they stay. */
export const askerWays = ['waits', 'asks-twice', 'gives-up', 'leaves'] as const
export type AskerWay = (typeof askerWays)[number]

/** One stimulus from outside, and all that shall come of it. */
export interface Work {
  readonly kind: 'chat' | 'webhook' | 'invoke'
  readonly agent: string
  readonly plan: Plan
  /**
   * `waits`: asks again under the same key until it has the outcome. `asks-twice`: the same, and twice at once.
   * `gives-up`: asks once and never again. `leaves`: goes once the run is a row.
   */
  readonly way: AskerWay
  /** What is said to the agent while it works; empty for nothing. */
  readonly steer: string
  /** Runs of the ledger that come of it: itself and its tasks. */
  readonly runs: number
}

/**
 * What is killed, and when: so long after the mesh was ready or was started, or so soon after one of the next writes of
 * its database or requests that reach the world outside, where an effect stands and nobody may know of it yet.
 */
export interface Blow {
  readonly target: 'mesh' | 'agent' | 'both'
  readonly after: 'ready' | 'start' | 'write' | 'request'
  readonly delayMs: number
  /** Writes or requests that are let pass. */
  readonly skip: number
}

/** With the operator they are ten agents. */
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
/** What only somebody who works on a task can say. */
const taskSteps: readonly StepName[] = [...workerSteps, 'progress', 'progress', 'question']
/** Of an agent whose disk goes with it. */
const spawnedSteps: readonly StepName[] = ['board', 'board-new', 'shared', 'signal', 'post', 'progress']
const operatorSteps: readonly StepName[] = ['board', 'board-new', 'shared', 'signal', 'note', 'post']
/** A home has room for so many agents and jobs. */
const rareMax = { create: 8, job: 30 }

/** Work for at least so many runs. The same chance gives the same work. Pure. */
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

/** A question to another agent, at times. */
function toOthers(chance: Chance, agent: string): Step[] {
  if (chance.percent(5)) return [{ name: 'report', to: '', steps: someSteps(chance, operatorSteps) }]
  if (!chance.percent(40)) return []
  const to = chance.pick(workers.filter((one) => one !== agent))
  const name = chance.pick(['message', 'ask'] as const)
  return [{ name, to, steps: someSteps(chance, workerSteps) }]
}

/** An agent made for one task, at times. */
function spawned(chance: Chance): Step[] {
  return chance.percent(15) ? [{ name: 'spawn', to: '', steps: someSteps(chance, spawnedSteps) }] : []
}

function handOffWork(chance: Chance, number: number, more: readonly Step[]): Work {
  const count = chance.between(1, 2)
  const own = chance.percent(50) ? someSteps(chance, operatorSteps).slice(0, 2) : []
  // Only the operator makes agents, and its lane alone would hold up all the others.
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

/** A task, and at times what becomes of it before it is done. */
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
 * The next thing to kill. Most moments are soon after a start, where recovery and new work meet; some are within a start,
 * and some let the work go on for a while. Pure.
 */
export function planBlow(chance: Chance): Blow {
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
