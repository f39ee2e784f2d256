import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod/mini'
import { oneLine } from '../terminal/color.ts'
import { attemptResult } from './attempt-result.ts'
import { openCanaryListener } from './canary-listener.ts'
import { invokeTool } from './invoke-tool.ts'
import type { InvokeDeps } from './invoke-tool.ts'
import { wallAttempts } from './wall-attempts.ts'
import type { Verdict, WallAttempt } from './wall-attempts.ts'
import type { AgentPlace, KnownSecret, WallFacts } from './wall-facts.ts'

export interface TriedWall extends Verdict {
  readonly id: string
  readonly title: string
  readonly by: string
  /** False when nothing was sent: nothing would have stopped it, or there was nothing to try it on. */
  readonly attempted: boolean
}

export interface TryWallsOptions {
  readonly isolates: boolean
  readonly secrets: readonly KnownSecret[]
  readonly control: KnownSecret
  readonly onStep: (title: string) => void
}

const attacker = 'auditor'
const victim = 'writer'
const attemptsFolder = join(import.meta.dirname, 'attempts')
/** Seconds per attempt: the slowest program at 0.15 of a CPU, three times over. */
const timeoutSeconds = 120

const placeSchema = z.object({
  addresses: z.array(z.string()),
  port: z.number(),
  healthz: z.number(),
  door: z.object({ host: z.string(), port: z.number() }),
})

/** Makes every attempt from inside a worker, one after the other, and says what happened to each. */
export async function tryWalls(deps: InvokeDeps, options: TryWallsOptions): Promise<readonly TriedWall[]> {
  const canary = await openCanaryListener()
  try {
    const before = canary.connections()
    await putAttempts(deps, options.control)
    const facts: WallFacts = {
      ...options,
      self: await placeOf(deps, attacker),
      other: await placeOf(deps, victim),
      canary: { ...canary, connections: () => canary.connections() - before },
    }
    const tried: TriedWall[] = []
    for (const attempt of wallAttempts) {
      options.onStep(attempt.title)
      tried.push(await make(deps, { attempt, facts }))
    }
    return tried
  } finally {
    await canary.close()
  }
}

async function putAttempts(deps: InvokeDeps, control: KnownSecret): Promise<void> {
  const put = (agent: string, path: string, bytes: Uint8Array<ArrayBuffer>) =>
    deps.client.call('fileWrite', { params: { id: agent, path }, bytes, signal: deps.signal })
  for (const name of readdirSync(attemptsFolder)) {
    const bytes = new Uint8Array(readFileSync(join(attemptsFolder, name)))
    await put(attacker, `demo/attempts/${name}`, bytes)
    if (name.endsWith('.mjs')) await put(victim, `demo/attempts/${name}`, bytes)
  }
  await put(
    attacker,
    'demo/control.txt',
    new Uint8Array(new TextEncoder().encode(`control=${control.value}\n`)),
  )
}

async function placeOf(deps: InvokeDeps, agentId: string): Promise<AgentPlace> {
  const run = await invokeTool(deps, command(agentId, 'node demo/attempts/where.mjs'))
  const parsed = placeSchema.safeParse(attemptResult(run.outcome))
  if (parsed.success) return parsed.data
  throw new Error(`${agentId} does not say where it is: ${oneLine(run.outcome?.text ?? run.state, 400)}`)
}

async function make(
  deps: InvokeDeps,
  { attempt, facts }: { attempt: WallAttempt; facts: WallFacts },
): Promise<TriedWall> {
  const { id, title, by } = attempt
  if (!facts.isolates && attempt.leavesMachine) {
    return { id, title, by, attempted: false, held: false, happened: 'not attempted: nothing would stop it' }
  }
  const run = await invokeTool(deps, command(attacker, attempt.command(facts)))
  return { id, title, by, attempted: true, ...judged(attempt, { facts, outcome: run.outcome }) }
}

/** A program that did not report is no wall that held. */
function judged(
  attempt: WallAttempt,
  { facts, outcome }: { facts: WallFacts; outcome: Parameters<typeof attemptResult>[0] },
): Verdict {
  try {
    return attempt.judge(attemptResult(outcome), facts)
  } catch {
    return { held: false, happened: `the attempt gave no report: ${oneLine(outcome?.text ?? '', 300)}` }
  }
}

function command(agentId: string, line: string) {
  return { agentId, tool: 'run_command', params: { command: line, timeout_s: timeoutSeconds } }
}
