import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { reportFolder } from './keep-home.ts'
import { keepReport } from './keep-report.ts'
import { formatCoverage, formatFindings, formatReadyTimes } from './report.ts'
import { runChaos } from './run-chaos.ts'

/**
 * `npm run chaos`: a real mesh with real agents works while `kill -9` ends it and them at random times, first as
 * plain processes, then in containers. A supervisor restarts the mesh each time.
 *
 * Ten agents work: the operator and nine workers, which hibernate when they have no work and on request.
 *
 * - Clients start chats and wait, ask twice, give up or disconnect. They call webhooks and tools without a model,
 *   and steer agents that work. Cron jobs fire.
 * - Agents use blackboard, signals, artifacts, notes, jobs, new agents, commands and POST requests to a server that
 *   counts. They hand off tasks, some of which are rerouted, cancelled or asked about, and send messages that are
 *   answered at once or later. They spawn agents for one task.
 * - The model is a fake on loopback that follows the plan in the conversation and charges for each answer.
 *
 * At the end the checks judge the rows of the database and what was observed from outside, never the product's own
 * views:
 *
 * - `checks/check-runs`: each run ends once; one key is one run; no accepted work is lost.
 * - `checks/check-askers`: clients that wait get the outcome of the row; outbox rows, firings and steers are
 *   delivered once, and nothing counts as delivered that no client read.
 * - `checks/check-effects`: a call has its effect at most once, exactly once if its result said done, never if it
 *   said refused; a step of a plan is carried out once; versions have no gaps.
 * - `checks/check-hand-offs`: each task ends, and its parent is notified once.
 * - `checks/check-messages`: each message is answered, the run that asked is notified once, and its model reads the
 *   answer once.
 * - `checks/check-money`: totals are the sums of their rows and never negative (also checked after each kill), no
 *   reservation stays open, and what was billed was booked.
 * - leftovers: no agent that the mesh does not know, no two on one data folder, nothing running after `flotilla
 *   stop`, nothing in the engine after a reset, no temporary files, an unbroken journal.
 *
 * Exits with 1 if anything was found. The report is written to `reports/chaos/`. The seed repeats the plan: the
 * work, the times of the kills and their targets, as far as two runs of a machine are alike.
 */
const usage = `npm run chaos -- [--seed N] [--runs N] [--containers N] [--minutes N]

  --seed N        repeats the plan of an earlier chaos (any whole number; left out, a new one)
  --runs N        runs over plain processes (1000; 0 for none)
  --containers N  runs over containers (300; 0 for none)
  --minutes N     after so many minutes of each no more work is given (60)`

const seedMax = 2 ** 32

interface Asked {
  readonly seed: number
  readonly runs: number
  readonly containers: number
  readonly minutes: number
}

function readArguments(args: readonly string[]): Asked | string {
  try {
    const text = { type: 'string' } as const
    const { values } = parseArgs({
      args: [...args],
      options: {
        seed: text,
        runs: text,
        containers: text,
        minutes: text,
        help: { type: 'boolean', short: 'h' },
      },
    })
    if (values.help) return usage
    return {
      seed: whole('seed', values.seed, randomInt(seedMax)),
      runs: whole('runs', values.runs, 1000),
      containers: whole('containers', values.containers, 300),
      minutes: whole('minutes', values.minutes, 60),
    }
  } catch (error) {
    return `${error instanceof Error ? error.message : String(error)}\n\n${usage}`
  }
}

function whole(name: string, text: string | undefined, otherwise: number): number {
  const value = text === undefined ? otherwise : Number(text)
  if (Number.isInteger(value) && value >= 0 && value < seedMax) return value
  throw new Error(`--${name} takes a whole number, not ${text}`)
}

async function main(): Promise<number> {
  const asked = readArguments(process.argv.slice(2))
  if (typeof asked === 'string') {
    console.log(asked)
    return asked === usage ? 0 : 2
  }
  const startedAt = performance.now()
  const progress = (step: string): void => {
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(0).padStart(5)
    process.stderr.write(`${seconds} s  ${step}\n`)
  }
  console.log(`seed ${asked.seed}`)
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => stopping.abort(new Error(`stopped by ${signal}`)))
  }
  let found = 0
  for (const [runtime, runs] of [
    ['process', asked.runs],
    ['docker', asked.containers],
  ] as const) {
    if (runs === 0) continue
    const report = await runChaos({
      runtime,
      seed: asked.seed,
      runs,
      maxMinutes: asked.minutes,
      progress,
      signal: stopping.signal,
    })
    console.log(`\n== ${runtime === 'process' ? 'plain processes' : 'containers'}`)
    console.log(
      [formatCoverage(report), formatReadyTimes(report.instances), '', formatFindings(report)].join('\n'),
    )
    console.log(`\nThe report is kept: ${await keepReport(reportFolder, report)}`)
    found += report.findings.length
  }
  return found > 0 ? 1 : 0
}

try {
  process.exitCode = await main()
} catch (error) {
  console.error(`The chaos was broken off: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
}
