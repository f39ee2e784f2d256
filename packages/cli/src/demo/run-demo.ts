import type { AgentIsolation, IsolationRung } from '@flotilla/protocol/isolation'
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CommandFailed } from '../command-failed.ts'
import { removeFleet } from '../commands/reset.ts'
import type { CommandContext } from '../context.ts'
import { endMesh } from '../mesh-process/start-mesh.ts'
import type { RuntimeName } from '@flotilla/protocol/runtime-names'
import { formatDuration } from '../terminal/format.ts'
import { heading } from '../terminal/terminal.ts'
import { startDemoFleet } from './demo-fleet.ts'
import type { DemoFleet } from './demo-fleet.ts'
import { doJob } from './do-job.ts'
import type { JobReport } from './do-job.ts'
import { showLedger } from './show-ledger.ts'
import type { LedgerReport } from './show-ledger.ts'
import { showWalls } from './show-walls.ts'
import { attacker, tryWalls, wakeVictim } from './try-walls.ts'
import type { TriedWall } from './try-walls.ts'

export interface DemoOptions {
  readonly runtime: RuntimeName | undefined
  readonly isolation: IsolationRung | undefined
  readonly keep: boolean
}

export interface DemoReport {
  readonly passed: boolean
  readonly runtime: RuntimeName
  readonly model: string
  readonly readyMs: number
  readonly job: JobReport
  /** The attacker's isolation level, and why it differs from the requested one; null without isolation. */
  readonly isolation: AttackerPlace | null
  readonly walls: readonly TriedWall[]
  readonly ledger: LedgerReport
}

const nextWords = (command: string) =>
  `Next: ${command} init sets up your own fleet with a model and a first agent.`

const scriptedModel = 'scripted/licence-audit'

/** Runs the demo in a temporary home. Then removes everything (with `keep`: stops it), also after an interrupt. */
export async function runDemo(context: CommandContext, options: DemoOptions): Promise<DemoReport> {
  const { terminal, clock } = context
  const model = chooseModel(context)
  const home = mkdtempSync(join(tmpdir(), 'flotilla-demo-'))
  const canaries = makeCanaries(context)
  terminal.print(
    terminal.color.strong('Flotilla demo: a fleet does a real job, then attacks its own isolation.'),
    terminal.color.faint(
      model === scriptedModel
        ? 'No model key is set: decisions come from a recorded cassette; every tool call is real.'
        : `Decisions come from ${model}.`,
    ),
    ...heading(terminal, '1  Start the fleet'),
  )
  let fleet: DemoFleet | null = null
  try {
    const startedAt = clock.now()
    fleet = await startDemoFleet(context, {
      home,
      runtime: options.runtime,
      isolation: options.isolation,
      variables: { ...canaries.variables, FLOTILLA_DEFAULT_MODEL: model },
    })
    const readyMs = clock.now() - startedAt
    terminal.print(
      `Ready after ${formatDuration(readyMs)}: operator, auditor, writer (runtime ${fleet.runtime}).`,
    )
    terminal.print(...heading(terminal, '2  Do a real job'))
    const victimAwake = wakeVictim({ ...context, client: fleet.client })
    // The rejection is reported where the promise is awaited.
    victimAwake.catch(() => undefined)
    const job = await doJob(context, { client: fleet.client, exact: model === scriptedModel })
    terminal.print(...heading(terminal, '3  Attack the isolation from inside the worker auditor'))
    const isolation = await attackerPlace(context, fleet)
    const inMachine = isolation?.runs_on === 'microvm'
    const walls = await attack(context, { fleet, inMachine, victimAwake, secrets: canaries.secrets })
    showWalls(terminal, { walls, runtime: fleet.runtime })
    terminal.print(...heading(terminal, '4  The ledger'))
    const ledger = await showLedger(context, { client: fleet.client, elapsedMs: clock.now() - startedAt })
    const held = fleet.runtime === 'process' || walls.every((wall) => wall.held)
    const { runtime } = fleet
    const report = { passed: job.right && held, runtime, model, readyMs, job, isolation, walls, ledger }
    terminal.print('', verdictWords(context, report))
    if (report.passed) terminal.print(terminal.color.faint(nextWords(context.environment.command)))
    return report
  } finally {
    await cleanUp(context, { home, fleet, keep: options.keep })
  }
}

type AttackerPlace = Pick<AgentIsolation, 'wanted' | 'runs_on' | 'fallback'>

/**
 * Prints the attacker's isolation level before the attack, so that the results are not attributed to a stronger
 * level. Returns the level; null without isolation.
 */
async function attackerPlace(
  { terminal, signal }: CommandContext,
  fleet: DemoFleet,
): Promise<AttackerPlace | null> {
  const { agents } = await fleet.client.call('status', { signal })
  const found = agents.find(({ id }) => id === attacker)?.isolation
  if (!found || found.runs_on === null) return null
  const { wanted, runs_on, fallback } = found
  if (fallback !== null)
    terminal.note(terminal.color.warning(`It runs in a ${runs_on}, not in a ${wanted}: ${fallback}`))
  else terminal.print(`Isolation: ${runs_on}.`)
  return { wanted, runs_on, fallback }
}

function chooseModel({ environment }: CommandContext): string {
  const { apiKey, baseUrl, name } = environment.model
  if (apiKey === undefined && baseUrl === undefined) return scriptedModel
  if (name !== undefined) return name
  throw new CommandFailed('model-not-named', {
    detail: 'A model provider is set, but no model.',
    repair:
      'Set FLOTILLA_DEFAULT_MODEL, for example to openai/gpt-5-mini, or unset FLOTILLA_SYSTEM_OPENAI_API_KEY.',
  })
}

/** Creates secrets that the mesh holds: if a search in a worker does not find them, isolation is the reason. */
function makeCanaries({ environment, newKey }: CommandContext) {
  const { apiKey, baseUrl } = environment.model
  const credential = `cred-${newKey()}`
  const canaryKey = `sk-${newKey()}`
  // A canary must never be sent to a real provider: it replaces the key only if no provider is used.
  const key = apiKey ?? (baseUrl === undefined ? canaryKey : undefined)
  return {
    variables: {
      FLOTILLA_CRED_DEMO_CANARY: credential,
      ...(key === undefined ? {} : { FLOTILLA_SYSTEM_OPENAI_API_KEY: key }),
    },
    secrets: [
      { name: 'credential', value: credential },
      ...(key === undefined ? [] : [{ name: 'provider key', value: key }]),
    ],
  }
}

async function attack(
  context: CommandContext,
  {
    fleet,
    inMachine,
    victimAwake,
    secrets,
  }: {
    fleet: DemoFleet
    inMachine: boolean
    victimAwake: Promise<void>
    secrets: ReturnType<typeof makeCanaries>['secrets']
  },
): Promise<readonly TriedWall[]> {
  const { terminal } = context
  const walls = await tryWalls(
    { client: fleet.client, clock: context.clock, newKey: context.newKey, signal: context.signal },
    {
      isolates: fleet.runtime !== 'process',
      inMachine,
      secrets,
      victimAwake,
      control: { name: 'control', value: `ctl-${context.newKey()}` },
      onStep: (titles) => terminal.progress.step(`From inside the auditor: ${stepWords(titles)}`),
    },
  )
  terminal.progress.done()
  return walls
}

const stepWords = (titles: readonly string[]) =>
  titles.length > 1 ? `${titles.length} attempts side by side` : titles.join('')

function verdictWords(
  { terminal }: CommandContext,
  report: Omit<DemoReport, 'passed'> & { passed: boolean },
): string {
  const { color } = terminal
  if (!report.job.right) return color.bad('✗ The demo failed: the answer is not right.')
  if (report.runtime === 'process')
    return color.warning('! The answer is right. The agents were not isolated, as announced at the start.')
  if (!report.passed) return color.bad('✗ The demo failed: an attack succeeded.')
  return color.good('✓ The answer is right and no attack succeeded.')
}

interface CleanUp {
  readonly home: string
  readonly fleet: DemoFleet | null
  readonly keep: boolean
}

async function cleanUp(context: CommandContext, { home, fleet, keep }: CleanUp): Promise<void> {
  const { terminal, environment } = context
  terminal.progress.step('Stopping the fleet and removing what it left')
  // Clean-up ignores the signal that ended the demo, so an interrupted demo is still removed.
  const signal = AbortSignal.timeout(cleanUpWithinMs)
  try {
    if (fleet !== null) await endMesh(fleet.mesh, context.clock)
    if (keep)
      return terminal.note(terminal.typed(`Kept: ${home}. Remove it with: flotilla reset --home ${home}`))
    await removeFleet({ environment, signal }, home)
    terminal.progress.done()
  } catch (error) {
    terminal.progress.fail()
    const detail = error instanceof Error ? error.message : 'unknown reason'
    terminal.note(
      terminal.typed(`Not everything could be removed (${detail}). Try: flotilla reset --yes --home ${home}`),
    )
    if (!keep && fleet === null) await rm(home, { recursive: true, force: true })
  }
}

const cleanUpWithinMs = 240_000
