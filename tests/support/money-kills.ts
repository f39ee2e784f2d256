import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { eventually } from './eventually.ts'
import { openLedger } from './ledger-view.ts'
import { chunkEvent, startLlmUpstream, usageEvent } from './llm-upstream.ts'
import type { LlmUpstream } from './llm-upstream.ts'
import { repositoryRoot, startMesh } from './mesh-process.ts'
import type { MeshProcess } from './mesh-process.ts'

const program = join(repositoryRoot, 'tests', 'support', 'many-calls.mjs')
const loops = 12
/** The maximum time of a command. */
const commandMaxSeconds = 300
/** More calls than a process start alone causes, so that the sums include open calls and calls after them. */
const callsEachLife = 10

/** Waits briefly, and reports its usage. */
function thinkAndAnswer(upstream: LlmUpstream): void {
  upstream.answerWith(async (_call, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    await sleep(40)
    response.write(chunkEvent({ content: 'done' }, 'stop'))
    response.write(usageEvent({ prompt_tokens: 60, completion_tokens: 5, total_tokens: 65 }))
    response.end('data: [DONE]\n\n')
  })
}

/** Kills a mesh repeatedly under an agent that calls models all the time; expects the sums to be right each time. */
export async function killUnderCalls(asked: {
  readonly runtime: 'process' | 'docker'
  readonly kills: number
  /** Duration of one batch of calls by the agent; each batch spans several mesh restarts. */
  readonly seconds: number
}): Promise<{ readonly calls: number }> {
  const upstream = await startLlmUpstream()
  thinkAndAnswer(upstream)
  const mesh = await startMesh({
    runtime: asked.runtime,
    environment: { FLOTILLA_NO_INSTALL: '1' },
    settings: {
      default_model: 'fake/works',
      providers: { fake: { kind: 'openai-compatible', base_url: upstream.baseUrl } },
      models: { 'fake/works': { price: { input_per_mtok: 1, output_per_mtok: 10 } } },
      rate_limits: { llm: 100_000 },
    },
  })
  try {
    await mesh.createWorker('busy', { budget: { daily_usd: 500, monthly_usd: 5000 } })
    let callsUntil = 0
    for (let kill = 0; kill < asked.kills; kill++) {
      if (Date.now() > callsUntil) {
        callsUntil = Date.now() + asked.seconds * 1000
        await startCalling(mesh, asked.seconds)
      }
      const before = upstream.calls.length
      await eventually('the agent calls', () => upstream.calls.length > before + callsEachLife, 60_000)
      // Kills are spread over the interval in which finished calls are written.
      await sleep((kill * 17) % 50)
      await mesh.kill9()
      await mesh.restart()
      expectSumsOfRows(mesh)
    }
    await sleep(Math.max(0, callsUntil - Date.now()))
    expect(await mesh.terminate()).toBe(0)
    expectSumsOfRows(mesh)
    expectNothingOpen(mesh)
    return { calls: upstream.calls.length }
  } finally {
    await mesh.stop()
    await upstream.close()
  }
}

/** The client disconnects with the first mesh process; the run continues, and so do its calls. */
async function startCalling(mesh: MeshProcess, seconds: number): Promise<void> {
  const text = (await readFile(program)).toString('base64')
  const command = `echo ${text} | base64 -d > calls.mjs && node calls.mjs fake/works ${loops} ${seconds}`
  mesh.invoke('busy', 'run_command', { command, timeout_s: commandMaxSeconds }).catch(() => {})
}

function expectSumsOfRows(mesh: MeshProcess): void {
  const { fromRows, told, daily } = sumsOf(mesh)
  expect(told).toEqual(fromRows)
  const [fleet] = fromRows.filter((row) => row['scope'] === 'fleet')
  expect(daily).toEqual([{ spent_nano: fleet?.['spent_nano'], calls: fleet?.['calls'] }])
}

function expectNothingOpen(mesh: MeshProcess): void {
  const { told } = sumsOf(mesh)
  expect(told.map((row) => row['open_nano'])).toEqual(told.map(() => 0))
}

/** The sums that budgets use, beside the sums of the rows, in one read of the database. */
function sumsOf(mesh: MeshProcess) {
  const ledger = openLedger(mesh.home)
  const sums = `sum(CASE state WHEN 'open' THEN reserved_nano ELSE 0 END) AS open_nano,
    sum(CASE state WHEN 'settled' THEN cost_nano ELSE 0 END) AS spent_nano, sum(state = 'settled') AS calls`
  try {
    ledger.rows('BEGIN')
    const fromRows = [`'agent:' || agent_id`, `'fleet'`, `'run:' || run_id`].flatMap((scope) =>
      ledger.rows(
        `SELECT ${scope} AS scope, ${sums} FROM spend WHERE ${scope} IS NOT NULL GROUP BY 1 ORDER BY 1`,
      ),
    )
    const told = ledger.rows(
      `SELECT scope, open_nano, spent_nano, calls FROM spend_total
       WHERE length(period) IN (0, 7) AND scope NOT LIKE 'task:%' ORDER BY scope`,
    )
    const daily = ledger.rows('SELECT sum(cost_nano) AS spent_nano, sum(calls) AS calls FROM spend_daily')
    return { fromRows, told, daily }
  } finally {
    ledger.close()
  }
}
