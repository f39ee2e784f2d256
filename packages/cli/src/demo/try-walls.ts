import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod/mini'
import { oneLine } from '../terminal/color.ts'
import { attemptResult } from './attempt-result.ts'
import { openCanaryListener } from './canary-listener.ts'
import { invokeTool } from './invoke-tool.ts'
import type { InvokeDeps } from './invoke-tool.ts'
import { sideBySide, wallAttempts } from './wall-attempts.ts'
import type { Verdict, WallAttempt } from './wall-attempts.ts'
import type { AgentPlace, KnownSecret, WallFacts } from './wall-facts.ts'

export interface TriedWall extends Verdict {
  readonly id: string
  readonly title: string
  readonly by: string
  /** False if the attempt was not made, because nothing would have stopped it or it had no target. */
  readonly attempted: boolean
}

export interface TryWallsOptions {
  readonly isolates: boolean
  /** True in a virtual machine: an emulated one is many times slower, so the attempts run one after the other. */
  readonly inMachine: boolean
  readonly secrets: readonly KnownSecret[]
  readonly control: KnownSecret
  /** The promise of `wakeVictim`. */
  readonly victimAwake: Promise<void>
  /** The attempts that run now, concurrently. */
  readonly onStep: (titles: readonly string[]) => void
}

export const attacker = 'auditor'
const victim = 'writer'
const attemptsFolder = join(import.meta.dirname, 'attempts')
const whereFiles = ['where.mjs', 'agent-port.mjs']
/**
 * Time limits of one step in seconds: `shared` for parallel attempts (ten times what they need with 0.15 CPU),
 * `machine` for an attempt in a virtual machine (the maximum of an agent's command).
 */
const timeoutSeconds = { shared: 120, machine: 300 }

const placeSchema = z.object({
  addresses: z.array(z.string()),
  port: z.number(),
  healthz: z.number(),
  listens: z.boolean(),
  api: z.object({ host: z.string(), port: z.number() }),
})

/**
 * Prepares the worker that is attacked while the fleet still works: the call starts it and gives it the program that
 * reports its addresses.
 */
export const wakeVictim = (deps: InvokeDeps): Promise<void> => putFiles(deps, victim, whereFiles)

/**
 * Makes every attempt from inside a worker and reports each result. Attempts that do not disturb each other
 * run concurrently in one command, because an agent runs one command at a time.
 */
export async function tryWalls(deps: InvokeDeps, options: TryWallsOptions): Promise<readonly TriedWall[]> {
  const canary = await openCanaryListener()
  try {
    const before = canary.connections()
    const [self, other] = await Promise.all([
      prepareAttacker(deps, options.control),
      // The victim reports its place now, which proves that it runs: a later failed connection is due to isolation.
      options.victimAwake.then(() => placeOf(deps, victim)),
    ])
    const facts: WallFacts = {
      ...options,
      self,
      other,
      canary: { ...canary, connections: () => canary.connections() - before },
    }
    const tried = new Map<WallAttempt, TriedWall>()
    for (const attempt of wallAttempts) if (!mayTry(attempt, facts)) tried.set(attempt, notTried(attempt))
    const left = wallAttempts.filter((attempt) => !tried.has(attempt))
    const isAlone = (one: WallAttempt) => options.inMachine || one.alone
    const groups = [left.filter((one) => !isAlone(one)), ...left.filter(isAlone).map((one) => [one])].filter(
      (group) => group.length > 0,
    )
    const seconds = options.inMachine ? timeoutSeconds.machine : timeoutSeconds.shared
    for (const attempts of groups) {
      options.onStep(attempts.map(({ title }) => title))
      const { outcome } = await invokeTool(
        deps,
        command(attacker, { line: sideBySide(attempts, facts), seconds }),
      )
      for (const attempt of attempts) tried.set(attempt, judged(attempt, { facts, outcome }))
    }
    return wallAttempts.flatMap((attempt) => tried.get(attempt) ?? [])
  } finally {
    await canary.close()
  }
}

const mayTry = (attempt: WallAttempt, { isolates }: WallFacts) => isolates || !attempt.leavesMachine

function notTried({ id, title, by }: WallAttempt): TriedWall {
  return {
    id,
    title,
    by,
    attempted: false,
    held: false,
    happened: 'not attempted: there is no isolation to stop it',
  }
}

async function prepareAttacker(deps: InvokeDeps, control: KnownSecret): Promise<AgentPlace> {
  await putFiles(deps, attacker, readdirSync(attemptsFolder))
  const put = putInto(deps, attacker)
  await put('demo/control.txt', new TextEncoder().encode(`control=${control.value}\n`))
  return placeOf(deps, attacker)
}

async function putFiles(deps: InvokeDeps, agent: string, names: readonly string[]): Promise<void> {
  const put = putInto(deps, agent)
  await Promise.all(
    names.map((name) => put(`demo/attempts/${name}`, readFileSync(join(attemptsFolder, name)))),
  )
}

const putInto = (deps: InvokeDeps, id: string) => (path: string, content: Uint8Array) =>
  deps.client.call('fileWrite', {
    params: { id, path },
    bytes: new Uint8Array(content),
    signal: deps.signal,
  })

async function placeOf(deps: InvokeDeps, agentId: string): Promise<AgentPlace> {
  const where = { line: 'node demo/attempts/where.mjs', seconds: timeoutSeconds.shared }
  const run = await invokeTool(deps, command(agentId, where))
  const parsed = placeSchema.safeParse(attemptResult(run.outcome))
  if (parsed.success) return parsed.data
  throw new Error(`${agentId} does not say where it is: ${oneLine(run.outcome?.text ?? run.state, 400)}`)
}

/** Returns the result of an attempt; without a report of its program, the isolation counts as failed. */
function judged(
  attempt: WallAttempt,
  { facts, outcome }: { facts: WallFacts; outcome: Parameters<typeof attemptResult>[0] },
): TriedWall {
  const { id, title, by } = attempt
  try {
    return { id, title, by, attempted: true, ...attempt.judge(attemptResult(outcome, id), facts) }
  } catch {
    const happened = `the attempt gave no report: ${oneLine(outcome?.text ?? '', 300)}`
    return { id, title, by, attempted: true, held: false, happened }
  }
}

function command(agentId: string, { line, seconds }: { line: string; seconds: number }) {
  return { agentId, tool: 'run_command', params: { command: line, timeout_s: seconds } }
}
