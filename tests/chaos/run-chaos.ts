import { cp, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RuntimeName } from '@flotilla/protocol/runtime-names'
import { askForWork } from './ask-for-work.ts'
import type { Asking } from './ask-for-work.ts'
import { createChance } from './chance.ts'
import type { ClusterHands } from './cluster-ground.ts'
import { checkAll } from './checks/all-checks.ts'
import { checkEnds } from './checks/check-ends.ts'
import { checkTotals } from './checks/check-money.ts'
import { disturb } from './disturb.ts'
import type { AskedFact, CallFact, Facts, Finding, Leftover } from './facts.ts'
import { gatherMoney, gatherRows, openEnds } from './gather-rows.ts'
import { keepHome, reportFolder } from './keep-home.ts'
import { hibernateAgents } from './hibernate-agents.ts'
import { openNotes } from './open-notes.ts'
import type { Notes } from './open-notes.ts'
import { openStage, silenceJobs } from './stage.ts'
import type { Stage } from './stage.ts'
import { killRepeatedly } from './kill-repeatedly.ts'
import type { KillCounts } from './kill-repeatedly.ts'
import type { MeshInstance } from './supervise-mesh.ts'
import { watchFailures } from './watch-failures.ts'
import { planKill, planWork } from './work-plan.ts'
import type { Work } from './work-plan.ts'

export interface ChaosOptions {
  readonly runtime: RuntimeName
  /** Given if agents run in pods. */
  readonly cluster?: ClusterHands
  readonly seed: number
  /** Runs that the work creates at least. */
  readonly runs: number
  /** Minutes after which no more work is submitted and nothing more is killed; submitted work is still awaited. */
  readonly maxMinutes: number
  /** Most kills; without it, as many as fit in the time. */
  readonly kills?: number
  readonly progress: (step: string) => void
  /** Aborts the test; everything is cleaned up then, too. */
  readonly signal?: AbortSignal
}

export interface ChaosReport {
  readonly options: ChaosOptions
  readonly facts: Facts
  readonly findings: readonly Finding[]
  readonly instances: readonly MeshInstance[]
  readonly counts: KillCounts
  readonly seconds: number
  /** A copy of the home if anything was found: rows and conversations show how it happened. */
  readonly keptHome: string | null
}

/** Pieces of work that are submitted at the same time. */
const askersMax = 20
const settleMaxMs = { process: 300_000, docker: 300_000, kubernetes: 900_000 } as const

/**
 * Runs one fleet from its first start to its reset, under random kills, and reports what was wrong with it.
 * Observations on the way are written to a file at once and repeated at the end, also if the test itself fails.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const notes = openNotes(reportFolder, options)
  options.progress(`What is found is noted in ${notes.path}`)
  try {
    return await disturbed(options, notes)
  } catch (error) {
    const words = error instanceof Error ? (error.stack ?? error.message) : String(error)
    notes.put({ what: 'the chaos was broken off', evidence: { error: words.split('\n') } })
    throw error
  } finally {
    options.progress(notes.tell())
  }
}

async function disturbed(options: ChaosOptions, notes: Notes): Promise<ChaosReport> {
  const startedAt = performance.now()
  const chance = createChance(options.seed)
  const work = planWork(chance.fork('work'), options.runs)
  const stage = await openStage({ ...options, chance })
  const early: Finding[] = []
  const found = (all: readonly Finding[]): void => {
    for (const { check, what, evidence } of all)
      notes.put({ what: `${check}: ${what}`, evidence: { evidence } })
  }
  const failures = watchFailures(stage, notes)
  const watching = new AbortController()
  const counts: KillCounts = { mesh: 0, agents: 0, inStart: 0, asleep: 0, disturbed: {} }
  const watched = failures.watch(watching.signal)
  try {
    const working = new AbortController()
    const over = { count: 0 }
    const kills = chance.fork('blows')
    const between = async ({ number }: MeshInstance): Promise<void> => {
      await stage.disk?.hasRoom()
      const money = unique(moneyBetween(stage.home, number)).filter((one) => !isAmong(one, early))
      found(money)
      early.push(...money)
    }
    const signal = AbortSignal.any([working.signal, AbortSignal.timeout(options.maxMinutes * 60_000)])
    const killing = killRepeatedly({
      stage,
      next: () => planKill(kills),
      chance: chance.fork('targets'),
      signal,
      most: options.kills ?? Infinity,
      counts,
      over: () => over.count,
      between,
    })
    const asked = giveWork({ stage, work, over }, options).finally(() => working.abort())
    const hibernating = hibernateAgents({ stage, chance: chance.fork('sleep'), signal, counts })
    const disturbing = disturb({
      stage,
      chance: chance.fork('ground'),
      signal,
      counts,
      progress: options.progress,
    })
    const [given] = await Promise.all([asked, killing, hibernating, disturbing])
    options.signal?.throwIfAborted()
    await silenceJobs(stage)
    const open = await settled(stage, options)
    if (open.length > 0) early.push({ check: 'not-settled', what: 'not all came to its end', evidence: open })
    found(early.filter(({ check }) => check === 'not-settled'))
    await failures.look().catch(() => undefined)
    options.progress('All is over; looking at what is left')
    const facts = await gatherFacts(stage, given)
    const judged = checkAll(facts)
    found(judged.filter((one) => !isAmong(one, early)))
    const ends = stage.ground.kind === 'process' ? checkEnds(stage.supervisor.instances) : []
    const findings = unique([...early, ...judged, ...ends])
    const seconds = (performance.now() - startedAt) / 1000
    const { instances } = stage.supervisor
    const keptHome = findings.length === 0 ? null : await keepHome(beforeReset(stage), options.seed)
    return { options, facts, findings, instances, counts, seconds, keptHome }
  } finally {
    watching.abort()
    await watched
    await stage.close()
  }
}

interface Given {
  readonly asked: readonly AskedFact[]
  readonly calls: readonly CallFact[]
}

/** Runs a few askers at a time, each with the next piece of work. */
async function giveWork(
  {
    stage,
    work,
    over,
  }: { readonly stage: Stage; readonly work: readonly Work[]; readonly over: { count: number } },
  options: ChaosOptions,
): Promise<Given> {
  const broken = options.signal ?? new AbortController().signal
  const enough = AbortSignal.any([broken, AbortSignal.timeout(options.maxMinutes * 60_000)])
  const stopped = AbortSignal.any([
    broken,
    AbortSignal.timeout(options.maxMinutes * 60_000 + settleMaxMs[options.runtime]),
  ])
  const asking: Asking = { ...stage, outside: stage.outside.address, stopped }
  const [asked, calls]: [AskedFact[], CallFact[]] = [[], []]
  let next = 0
  async function askOneAfterTheOther(): Promise<void> {
    for (;;) {
      const one = work[next]
      if (one === undefined || enough.aborted) return
      next += 1
      const found = await askForWork(asking, one)
      asked.push(...found.asked)
      calls.push(...found.calls)
      over.count += 1
      if (over.count % 10 === 0 || over.count === work.length) {
        options.progress(
          `${over.count} of ${work.length} pieces of work are over, in instance ${stage.supervisor.instances.length}`,
        )
      }
    }
  }
  await Promise.all(Array.from({ length: askersMax }, askOneAfterTheOther))
  return { asked, calls }
}

function moneyBetween(home: string, instance: number): Finding[] {
  return checkTotals(gatherMoney(home)).map((found) => ({
    ...found,
    evidence: [...found.evidence, `seen first after the kill of instance ${instance}`],
  }))
}

/** Waits until all work has ended; returns what was still open at the bound. */
async function settled(stage: Stage, options: ChaosOptions): Promise<readonly string[]> {
  const end = performance.now() + settleMaxMs[options.runtime]
  let told = ''
  for (;;) {
    await stage.supervisor.ready()
    const open = openEnds(stage.home)
    if (open.length === 0) return []
    if (performance.now() > end) return open
    const words = open.join('; ')
    if (words !== told) options.progress(`Waiting for ${words}`)
    told = words
    await sleep(500)
  }
}

async function gatherFacts(stage: Stage, given: Given): Promise<Facts> {
  const { ground, model, outside } = stage
  const leftovers: Leftover[] = [...(await ground.strangers())]
  const commands = await ground.commandEffects()
  const retiring = stage.supervisor.retire()
  const stop = await stage.command('stop')
  if (stop.code !== 0) leftovers.push({ check: 'after-stop', what: `flotilla stop failed: ${stop.said}` })
  await retiring
  leftovers.push(...(await ground.afterStop()), ...(await temporaryFiles(stage)))
  const verified = await stage.command('verify-journal')
  if (verified.code !== 0)
    leftovers.push({ check: 'journal', what: `the journal is broken: ${verified.said}` })
  const rows = await gatherRows(stage.home)
  // The copy is made before the reset, which deletes the rows that explain a finding.
  await cp(stage.home, beforeReset(stage), { recursive: true, verbatimSymlinks: true })
  if (ground.kind !== 'process') {
    const reset = await stage.command('reset')
    if (reset.code !== 0) leftovers.push({ check: 'after-reset', what: `reset failed: ${reset.said}` })
  }
  leftovers.push(...(await ground.afterReset()))
  return {
    ...rows,
    asked: given.asked,
    calls: [...model.calls(), ...given.calls],
    effects: [...rows.effects, ...commands, ...outside.effects()],
    steersSeen: model.steersSeen(),
    answersSeen: model.answersSeen(),
    billed: model.billed(),
    leftovers,
  }
}

/** Path of the copy of the home that is made before its reset. */
const beforeReset = ({ home }: Stage): string => `${home}-before-reset`

/** Names of files that exist only for a short time. */
const temporaryNames = /\.tmp$|\.new$|^\.staged-/

async function temporaryFiles(stage: Stage): Promise<Leftover[]> {
  const inHome = (await readdir(stage.home, { recursive: true })).filter((path) =>
    temporaryNames.test(path.split('/').at(-1) ?? ''),
  )
  const beside = await readdir(stage.temporary)
  return [...inHome.map((path) => join('home', path)), ...beside.map((name) => join('tmp', name))].map(
    (path) => ({
      check: 'temporary-file',
      what: `${path} was left behind`,
    }),
  )
}

/** Removes repeated findings: a fault that was seen after one kill is still there after the next. */
function unique(findings: readonly Finding[]): Finding[] {
  return findings.filter((one, index) => !isAmong(one, findings.slice(0, index)))
}

function isAmong({ check, what }: Finding, findings: readonly Finding[]): boolean {
  return findings.some((one) => one.check === check && one.what === what)
}
