import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { moneyApi, moneyEndpoints } from '@flotilla/protocol/money-api'
import type { BudgetView } from '@flotilla/protocol/money-api'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { heldPort } from '../support/held-port.ts'
import { aCassette, operatorHandsOff, runs, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { chunkEvent, startLlmUpstream, usageEvent } from '../support/llm-upstream.ts'
import type { LlmUpstream } from '../support/llm-upstream.ts'
import { repositoryRoot, startMesh, startMeshForTest } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { heedsLesson, verifies } from '../verifies.ts'

const program = join(repositoryRoot, 'tests', 'support', 'many-streams.mjs')
const oneCent = { daily_usd: 0.01, monthly_usd: 0.1 }

interface Seen {
  readonly pieces?: number
  readonly name?: string
  readonly status?: number
  readonly code?: string
  readonly message?: string
  readonly retryAfter?: string | null
}

/** Streams a word every 50 ms for a second, and reports all allowed tokens as used. */
async function pour(upstream: LlmUpstream): Promise<void> {
  upstream.answerWith(async (call, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let word = 0; word < 20; word++) {
      response.write(chunkEvent({ content: 'word ' }))
      await sleep(50)
    }
    const allowed = Number(call.body['max_tokens'])
    response.write(chunkEvent({}, 'length'))
    response.write(usageEvent({ prompt_tokens: 60, completion_tokens: allowed, total_tokens: 60 + allowed }))
    response.end('data: [DONE]\n\n')
  })
}

async function budgetsOf(mesh: MeshProcess): Promise<readonly BudgetView[]> {
  return moneyApi.budgets.response.parse((await mesh.call(moneyEndpoints.budgets)).json()).budgets
}

async function budgetOf(mesh: MeshProcess, scope: BudgetView['scope'], id = ''): Promise<BudgetView> {
  const found = (await budgetsOf(mesh)).find((one) => one.scope === scope && one.id === id)
  if (!found) throw new Error(`no budget of ${scope} ${id}`)
  return found
}

async function streams(mesh: MeshProcess, agent: string, count: number): Promise<readonly Seen[]> {
  const run = await mesh.invoke(agent, 'run_command', {
    command: `node ${program} fake/pours ${count}`,
    timeout_s: 100,
  })
  const said = typeof run.outcome?.result === 'string' ? run.outcome.result : (run.outcome?.text ?? '')
  const found = /SEEN (\[.*\])/.exec(said)?.[1]
  if (found === undefined) throw new Error(`the program said: ${JSON.stringify(run.outcome)}`)
  return JSON.parse(found) as Seen[]
}

/** One agent gets a task that it never completes. */
const circles = aCassette(
  ...operatorHandsOff({ when: 'go', to: 'spinner', title: 'Spin', answer: 'Done.' }),
  {
    agents: ['spinner'],
    when: 'Spin',
    turns: Array.from({ length: 40 }, (_, round) => runs(`echo round ${round}`)),
  },
)

describe('budgets', () => {
  let upstream: LlmUpstream
  let mesh: MeshProcess
  const settings = (more: object = {}) => ({
    default_model: 'scripted/circles',
    tasks: { max_calls: 6 },
    providers: { fake: { kind: 'openai-compatible', base_url: upstream.baseUrl } },
    models: { 'fake/pours': { price: { input_per_mtok: 1, output_per_mtok: 2 } } },
    ...more,
  })
  beforeAll(async () => {
    upstream = await startLlmUpstream()
    await pour(upstream)
    mesh = await startMesh({ cassettes: { circles }, settings: settings() })
    const model = 'fake/pours'
    await mesh.createWorker('poor', { model, budget: oneCent })
    await mesh.createWorker('rich', { model })
    await mesh.createWorker('member', { model, project: 'acme' })
  })
  afterAll(async () => {
    await mesh.stop()
    await upstream.close()
  })
  beforeEach(() => mesh.restartIfStopped())

  it('let 50 parallel streams with one cent left overspend by nothing', async () => {
    heedsLesson(82)
    verifies('limits:budget-daily:before-dispatch')
    const peak = { usd: 0, open: 0 }
    const watched = new AbortController()
    const watch = (async () => {
      while (!watched.signal.aborted) {
        const { daily } = await budgetOf(mesh, 'agent', 'poor')
        peak.usd = Math.max(peak.usd, daily.spent_usd + daily.reserved_usd)
        peak.open = Math.max(peak.open, daily.reserved_usd)
        await sleep(20)
      }
    })()
    const before = upstream.calls.length
    const seen = await streams(mesh, 'poor', 50)
    watched.abort()
    await watch
    const answered = seen.filter((one) => one.pieces === 20)
    const refused = seen.filter((one) => one.status === 402)
    expect(answered.length).toBeGreaterThan(0)
    expect(answered.length + refused.length).toBe(50)
    expect(upstream.calls.length - before).toBe(answered.length)
    expect(refused[0]).toMatchObject({ name: 'APIError', code: 'budget-exhausted' })
    expect(refused[0]?.message).toMatch(/the daily budget of agent poor has .* of 0\.01 USD left/)
    expect(peak.open).toBeGreaterThan(0)
    expect(peak.usd).toBeLessThanOrEqual(0.01)
    const { daily, monthly } = await budgetOf(mesh, 'agent', 'poor')
    expect(daily.reserved_usd).toBe(0)
    expect(daily.spent_usd).toBeLessThanOrEqual(0.01)
    expect(daily.spent_usd).toBeGreaterThan(0.009)
    expect(monthly.spent_usd).toBe(daily.spent_usd)
  })

  it('budgets of a project and of the fleet stop their agents too, from the next call on', async () => {
    const set = (body: object) => mesh.call(moneyEndpoints.budgetSet, { body })
    expect((await streams(mesh, 'member', 1))[0]).toEqual({ pieces: 20 })
    const spent = (await budgetOf(mesh, 'project', 'acme')).daily.spent_usd
    expect(spent).toBeGreaterThan(0.001)
    expect((await set({ scope: 'project', id: 'acme', daily_usd: 0.01 })).status).toBe(200)
    const [, ...many] = await streams(mesh, 'member', 10)
    expect(many.some((one) => /the daily budget of project acme/.test(one.message ?? ''))).toBe(true)
    expect((await budgetOf(mesh, 'project', 'acme')).daily.spent_usd).toBeLessThanOrEqual(0.01)

    expect((await set({ scope: 'fleet', daily_usd: 0.01 })).status).toBe(200)
    const [broke] = await streams(mesh, 'rich', 1)
    expect(broke?.message).toMatch(/the daily budget of the fleet has 0\.000000 of 0\.01 USD left/)
    expect((await set({ scope: 'fleet', daily_usd: null })).status).toBe(200)
    expect((await streams(mesh, 'rich', 1))[0]).toEqual({ pieces: 20 })
  })

  it('budgets outside of their range are refused with field and numbers', async () => {
    verifies('limits:budget-daily', 'limits:budget-monthly')
    const set = (body: object) => mesh.call(moneyEndpoints.budgetSet, { body })
    for (const [field, value, min, max] of [
      ['daily_usd', 0.009, 0.01, 1000],
      ['daily_usd', 1000.01, 0.01, 1000],
      ['monthly_usd', 0.09, 0.1, 30_000],
      ['monthly_usd', 30_001, 0.1, 30_000],
    ] as const) {
      const reply = await set({ scope: 'agent', id: 'rich', [field]: value })
      expect(reply.status).toBe(400)
      expect(reply.json()).toMatchObject({ code: 'bad-request', field, min, max, value })
    }
    expect((await set({ scope: 'agent', id: 'rich', daily_usd: '5' })).status).toBe(400)
    expect((await set({ scope: 'agent', id: 'rich', daily_usd: null })).status).toBe(400)
    const noticesOf = async (body: object) => (await set({ scope: 'project', ...body })).json()
    expect(await noticesOf({ id: 'acmee', daily_usd: 5 })).toMatchObject({
      notices: [
        'no agent is charged to the project acmee; did you mean acme? If not, charge one with: flotilla budget AGENT --project acmee',
      ],
    })
    expect(await noticesOf({ id: 'acmee', daily_usd: null })).toMatchObject({ notices: [] })
    expect(await noticesOf({ id: 'acme', monthly_usd: 300 })).toMatchObject({ notices: [] })
    expect((await set({ scope: 'agent', id: 'nobody', daily_usd: 1 })).status).toBe(404)
    const made = await mesh.call(meshHumanEndpoints.agentCreate, {
      body: { id: 'x', role: 'x', budget: { daily_usd: 2000, monthly_usd: 1 } },
    })
    expect(made.status).toBe(400)
    expect(made.text).toContain('daily_usd is USD 0.01 to 1000')
  })

  it('budgets and what was spent survive a restart, also one without notice', async () => {
    heedsLesson(83, 85)
    await mesh.call(moneyEndpoints.budgetSet, { body: { scope: 'agent', id: 'rich', daily_usd: 7 } })
    await mesh.call(moneyEndpoints.budgetSet, { body: { scope: 'fleet', monthly_usd: 400 } })
    const before = await budgetsOf(mesh)
    await mesh.kill9()
    await mesh.restart()
    const rich = await budgetOf(mesh, 'agent', 'rich')
    expect([rich.daily.limit_usd, rich.monthly.limit_usd]).toEqual([7, 200])
    expect((await budgetOf(mesh, 'fleet')).monthly.limit_usd).toBe(400)
    const spent = (views: readonly BudgetView[]) =>
      views.map(({ scope, id, daily }) => `${scope} ${id} ${daily.spent_usd}`)
    expect(spent(await budgetsOf(mesh))).toEqual(spent(before))
    expect((await budgetOf(mesh, 'agent', 'member')).project).toBe('acme')
  })

  it('budgets are set and shown by the command line, and costs add up by agent, project, model and day', async () => {
    const set = await flotilla(mesh, 'budget', 'rich', '--daily', '5', '--json')
    expect(set.code, set.err).toBe(0)
    expect(JSON.parse(set.out)).toMatchObject({
      budgets: [{ scope: 'agent', id: 'rich', daily: { limit_usd: 5 }, monthly: { limit_usd: 200 } }],
    })
    const refused = await flotilla(mesh, 'budget', 'fleet', '--daily', '5000')
    expect(refused.code).not.toBe(0)
    expect(refused.err).toContain('daily_usd is USD 0.01 to 1000, not 5000')
    const moved = await flotilla(mesh, 'budget', 'rich', '--project', 'acme')
    expect(moved.out).toContain('acme')
    const by = async (what: string) => {
      const { code, out, err } = await flotilla(mesh, 'costs', '--by', what, '--days', '2', '--json')
      expect(code, err).toBe(0)
      return JSON.parse(out) as { total: { usd: number }; rows: { key: string; usd: number }[] }
    }
    const agents = await by('agent')
    expect(agents.rows.map(({ key }) => key).toSorted()).toEqual(['member', 'poor', 'rich'])
    for (const what of ['agent', 'project', 'model', 'day']) {
      const { total, rows } = await by(what)
      expect(rows.reduce((sum, { usd }) => sum + usd, 0)).toBeCloseTo(total.usd, 9)
      expect(total.usd).toBeCloseTo(agents.total.usd, 9)
    }
    expect((await by('model')).rows.map(({ key }) => key)).toEqual(['fake/pours'])
    const shown = await flotilla(mesh, 'costs')
    expect(shown.out).toMatch(/AGENT .*SPENT .*SHARE/)
    expect(shown.out).toContain('member')
  })

  it('a reservation is released when its holder is killed', async () => {
    heedsLesson(65)
    await mesh.createWorker('held', { model: 'fake/pours' })
    const run = mesh.invoke('held', 'run_command', {
      command: `node ${program} fake/pours 5`,
      timeout_s: 100,
    })
    run.catch(() => undefined)
    const reserved = async () => (await budgetOf(mesh, 'agent', 'held')).daily.reserved_usd
    await eventually('money is set aside', async () => (await reserved()) > 0.001)
    const holder = (await mesh.agentProcesses()).find(({ agentId }) => agentId === 'held')
    if (!holder) throw new Error('held has no process')
    process.kill(-holder.pid, 'SIGKILL')
    await eventually('nothing is set aside any more', async () => (await reserved()) === 0, 5000)
    expect((await run).state).toBe('failed')
  })

  it('a task that repeats itself stops at its own cap: it ends blocked with the reason, and its requester is notified', async () => {
    heedsLesson(87)
    await mesh.createWorker('spinner')
    const asked = await mesh.ask('go')
    const [task] = await mesh.tasks()
    expect(task).toMatchObject({ state: 'blocked', assignee: 'spinner' })
    expect(task?.summary).toContain('has made 6 model calls and may make 6')
    expect(asked.outcome?.text).toContain('It was not done: budget-exhausted')
    const work = (await mesh.runs()).find((run) => run.agent_id === 'spinner')
    expect(work?.outcome).toMatchObject({ status: 'failed', code: 'budget-exhausted' })
  })

  // The last test of this mesh: the limit applies slightly longer than it is in the file.
  it('a budget with a rate limit answers 429 with Retry-After, to the official client too', async () => {
    const path = join(mesh.home, 'config', 'settings.json')
    const whole = await readFile(path, 'utf8')
    await writeFile(path, JSON.stringify(settings({ rate_limits: { llm: 2 } })))
    const limited = await eventually('the limit holds', async () => {
      const seen = await streams(mesh, 'rich', 4)
      return seen.find((one) => one.status === 429)
    })
    expect(limited).toMatchObject({ name: 'RateLimitError', code: 'rate-limited' })
    expect(limited.message).toContain('at most 2 calls of llm per minute')
    expect(Number(limited.retryAfter)).toBeGreaterThan(0)
    expect(Number(limited.retryAfter)).toBeLessThanOrEqual(120)
    await writeFile(path, whole)
  })
})

describe('the first start of a fleet', () => {
  const answers = aCassette({ when: '^hello$', turns: [says('Hello.')] })
  const noticesOf = (mesh: MeshProcess): readonly unknown[] =>
    mesh
      .told()
      .flatMap((line) => (line['ready'] === true ? [line['notices'] as readonly string[]] : []))
      .map((notices) => notices.filter((notice) => !notice.startsWith('Agents without a model of their own')))
  const words = expect.stringMatching(/whole fleet is now USD 20.*flotilla budget fleet --daily/)

  it('the first start of a fleet sets a daily limit for all agents together, says so, and leaves it to a person from then on', async () => {
    const mesh = await startMeshForTest({ cassettes: { answers } })
    const asBefore = async (alsoJournal: boolean) => {
      await mesh.terminate()
      const database = new DatabaseSync(join(mesh.home, 'data', 'mesh.db'))
      database.exec("DELETE FROM budgets WHERE scope = 'fleet'")
      if (alsoJournal) database.exec("DELETE FROM journal WHERE action = 'budget.changed'")
      database.close()
      await mesh.restart()
    }
    expect(noticesOf(mesh)).toEqual([[words]])
    expect((await budgetOf(mesh, 'fleet')).daily.limit_usd).toBe(20)
    const shown = await flotilla(mesh, 'budget', 'fleet')
    expect(shown.out).toMatch(/fleet .*20\.00/)
    // A home of an older release has no limit, and gets the default limit too.
    await asBefore(true)
    expect(noticesOf(mesh)).toEqual([[words], [words]])
    const none = await flotilla(mesh, 'budget', 'fleet', '--daily', 'none')
    expect(none.out, none.err).not.toMatch(/20\.00/)
    await mesh.terminate()
    await mesh.restart()
    expect(noticesOf(mesh).at(-1)).toEqual([])
    expect((await budgetOf(mesh, 'fleet')).daily.limit_usd).toBeNull()
    // A home that has no limit because a person removed it does not get one.
    await asBefore(false)
    expect(noticesOf(mesh).at(-1)).toEqual([])
    expect((await budgetOf(mesh, 'fleet')).daily.limit_usd).toBeNull()
  })

  it('the first start of a fleet prints the limit at the command line, once', async () => {
    const home = await mkdtemp(join(tmpdir(), 'flotilla-first-'))
    onTestFinished(() => rm(home, { recursive: true, force: true }))
    const start = async () => {
      const started = await flotilla(
        { home },
        'start',
        '-d',
        '--runtime',
        'process',
        '--port',
        `${await heldPort()}`,
      )
      const stopped = await flotilla({ home }, 'stop')
      expect([started.code, stopped.code], started.err + stopped.err).toEqual([0, 0])
      return started.out
    }
    expect(await start()).toEqual(words)
    // That the mesh reports it once is tested above.
    if (process.env['FLOTILLA_SOAK'] === '1') expect(await start()).not.toEqual(words)
  })
})

describe('the limit of the fleet', () => {
  it('the default limit of the fleet rejects the call that no longer fits, of an agent with a thousand left', async () => {
    const upstream = await startLlmUpstream()
    onTestFinished(() => upstream.close())
    upstream.answerWith((call, response) => {
      const allowed = Number(call.body['max_tokens'])
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(chunkEvent({ content: 'Done.' }, 'stop'))
      response.write(
        usageEvent({ prompt_tokens: 60, completion_tokens: allowed, total_tokens: 60 + allowed }),
      )
      response.end('data: [DONE]\n\n')
    })
    const mesh = await startMeshForTest({
      settings: {
        default_model: 'fake/gold',
        providers: { fake: { kind: 'openai-compatible', base_url: upstream.baseUrl } },
        models: {
          'fake/gold': { max_output_tokens: 1000, price: { input_per_mtok: 1, output_per_mtok: 7000 } },
        },
      },
    })
    const budget = { daily_usd: 1000, monthly_usd: 30_000 }
    await mesh.createWorker('one', { budget })
    await mesh.createWorker('two', { budget })
    // Seven dollars each, the last one less: for any caller, the total ends at twenty.
    const asked = []
    for (const agent of ['one', 'two', 'one', 'two', 'one']) asked.push(await mesh.ask('hello', { agent }))
    expect(asked.slice(0, 2).map(({ state }) => state)).toEqual(['done', 'done'])
    expect(asked.at(-1)?.outcome).toMatchObject({ status: 'failed', code: 'budget-exhausted' })
    expect(asked.at(-1)?.outcome?.text).toMatch(/daily budget of the fleet has .* of 20 USD left/)
    const { daily } = await budgetOf(mesh, 'fleet')
    expect(daily.spent_usd).toBeGreaterThan(13)
    expect(daily.spent_usd + daily.reserved_usd).toBeLessThanOrEqual(20)
    // A person raises the budget, and the next call succeeds.
    await flotilla(mesh, 'budget', 'fleet', '--daily', '40')
    expect((await mesh.ask('hello', { agent: 'two' })).state).toBe('done')
  })
})
