import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { moneyApi, moneyEndpoints } from '@flotilla/protocol/money-api'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { aCassette, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { openLedger } from '../support/ledger-view.ts'
import { chunkEvent, refuse, startLlmUpstream, usageEvent } from '../support/llm-upstream.ts'
import type { LlmUpstream } from '../support/llm-upstream.ts'
import { repositoryRoot, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'
import { patient } from '../support/patience.ts'

const found = await engineOfThisMachine()
const model = 'fake/m'
const promptTokens = 60
const nanoPerPromptToken = 1000
const nanoPerToken = 2000
const stormSeconds = 8

/**
 * What the provider charged for each agent, in nano-USD, whatever became of the answer. Agents write their name
 * into prompts.
 */
type Bill = Map<string, number>

/** A provider that generates and bills as many tokens as it may, and breaks some connections off. */
function billAll(upstream: LlmUpstream): Bill {
  const bill: Bill = new Map()
  upstream.answerWith(async ({ body }, response) => {
    const [message] = body['messages'] as readonly { readonly content: string }[]
    const [who = '', ...way] = (message?.content ?? '').split(' ')
    const words = way.join(' ')
    if (words.startsWith('failing')) return refuse(response, 500)
    const made = Number(body['max_completion_tokens'] ?? body['max_tokens']) * Number(body['n'] ?? 1)
    const cost = promptTokens * nanoPerPromptToken + made * nanoPerToken
    bill.set(who, (bill.get(who) ?? 0) + cost)
    const usage = {
      prompt_tokens: promptTokens,
      completion_tokens: made,
      total_tokens: promptTokens + made,
    }
    if (words.startsWith('broken early')) return void response.destroy()
    const streams = body['stream'] === true
    response.writeHead(200, { 'content-type': streams ? 'text/event-stream' : 'application/json' })
    response.write(
      streams
        ? chunkEvent({ content: 'thinks' })
        : '{"choices":[{"message":{"role":"assistant","content":"thought"},"finish_reason":"stop"}]',
    )
    await sleep(150)
    if (words.startsWith('broken')) return void response.destroy()
    response.end(streams ? `${usageEvent(usage)}data: [DONE]\n\n` : `,"usage":${JSON.stringify(usage)}}`)
  })
  return bill
}

withEngine(
  'money under attack from a container',
  () => {
    let mesh: MeshProcess
    let upstream: LlmUpstream
    let bill: Bill

    beforeAll(async () => {
      upstream = await startLlmUpstream()
      bill = billAll(upstream)
      mesh = await startMesh({
        runtime: 'docker',
        cassettes: { idle: aCassette({ when: 'nothing', turns: [says('Nothing.')] }) },
        environment: { FLOTILLA_NO_INSTALL: '1' },
        settings: {
          providers: { fake: { kind: 'openai-compatible', base_url: upstream.baseUrl } },
          models: { [model]: { price: { input_per_mtok: 1, output_per_mtok: 2 } } },
          agents: Object.fromEntries(['thief', 'partner', 'late'].map((id) => [id, { models: [model] }])),
          rate_limits: { llm: 100_000 },
        },
      })
      await mesh.createWorker('thief', { budget: { daily_usd: 0.06, monthly_usd: 1 }, project: 'den' })
      await mesh.createWorker('partner', { budget: { daily_usd: 0.06, monthly_usd: 1 }, project: 'den' })
      await mesh.createWorker('late', { budget: { daily_usd: 0.06, monthly_usd: 1 } })
      for (const body of [
        { scope: 'project', id: 'den', daily_usd: 0.1 },
        { scope: 'fleet', daily_usd: 0.15 },
      ])
        await setBudget(body)
      const program = await readFile(join(repositoryRoot, 'tests', 'support', 'money-attack-program.mjs'))
      for (const id of ['thief', 'partner', 'late']) {
        const params = { id, path: 'attack.mjs' }
        const put = await mesh.call(meshHumanEndpoints.fileWrite, { params, body: new Uint8Array(program) })
        if (put.status !== 200) throw new Error(put.text)
      }
    })
    afterAll(async () => {
      await mesh?.stop()
      await upstream?.close()
    })
    beforeEach(() => mesh.restartIfStopped())

    async function setBudget(body: object): Promise<void> {
      const reply = await mesh.call(moneyEndpoints.budgetSet, { body })
      if (reply.status !== 200) throw new Error(reply.text)
    }

    async function inside(agent: string, command: string): Promise<string> {
      const run = await mesh.invoke(agent, 'run_command', { command, timeout_s: 60 })
      return typeof run.outcome?.result === 'string' ? run.outcome.result : JSON.stringify(run.outcome)
    }
    const storm = (agent: string) => inside(agent, `node attack.mjs ${agent} ${model} storm ${stormSeconds}`)

    /** According to the mesh, no budget is exceeded by spending and reservations together. */
    async function expectWithinBudgets(): Promise<void> {
      const reply = await mesh.call(moneyEndpoints.budgets)
      for (const { scope, id, daily } of moneyApi.budgets.response.parse(reply.json()).budgets) {
        if (daily.limit_usd === null) continue
        expect(daily.spent_usd + daily.reserved_usd, `${scope} ${id}`).toBeLessThanOrEqual(
          daily.limit_usd + 1e-9,
        )
      }
    }

    /** Returns for each agent what is booked and what is reserved; without open calls nothing is reserved. */
    function booked(): ReadonlyMap<string, { readonly spent: number; readonly open: number }> {
      const ledger = openLedger(mesh.home)
      try {
        const rows = ledger.rows(
          `SELECT agent_id, sum(CASE state WHEN 'settled' THEN cost_nano ELSE 0 END) AS spent,
             sum(CASE state WHEN 'open' THEN reserved_nano ELSE 0 END) AS open FROM spend GROUP BY 1`,
        )
        return new Map(
          rows.map((row) => [
            String(row['agent_id']),
            { spent: Number(row['spent']), open: Number(row['open']) },
          ]),
        )
      } finally {
        ledger.close()
      }
    }

    async function expectAllBooked(): Promise<void> {
      await eventually(
        'every call is over',
        () => [...booked().values()].every(({ open }) => open === 0),
        60_000,
      )
      for (const [agent, served] of bill)
        expect(
          booked().get(agent)?.spent ?? 0,
          `booked for ${agent}, who was served ${served}`,
        ).toBeGreaterThanOrEqual(served)
      await expectWithinBudgets()
    }

    async function watched<T>(during: Promise<T>): Promise<T> {
      const over = new AbortController()
      const ended = during.finally(() => over.abort())
      while (!over.signal.aborted) {
        await expectWithinBudgets()
        await sleep(50)
      }
      return ended
    }

    it('storms of two agents are served no more than is booked, and never pass a budget of theirs, their project or the fleet', async () => {
      const said = await watched(Promise.all([storm('thief'), storm('partner')]))
      for (const words of said) {
        expect(words).toMatch(/"streams 200":[1-9]/)
        expect(words).toMatch(/402":[1-9]/)
        for (const refused of ['very many', 'none', 'negative'])
          expect(words).not.toContain(`"${refused} 200"`)
      }
      await expectAllBooked()
      expect(bill.size).toBe(2)
    })

    it(
      'a kill of the mesh in mid-storm loses nothing that was served',
      async () => {
        const before = upstream.calls.length
        const lost = storm('late').catch(() => 'its asker is gone')
        await eventually('it is served', () => upstream.calls.length > before + 1)
        await mesh.kill9()
        await mesh.restart()
        await lost
        await eventually(
          'its run is over',
          async () => (await mesh.runs()).every(({ state }) => state !== 'running' && state !== 'queued'),
          90_000,
        )
        await expectAllBooked()
        expect(bill.get('late')).toBeGreaterThan(0)
      },
      patient(240_000),
    )

    it('a model call after the end of its run, or with the token of an earlier start, is rejected', async () => {
      await setBudget({ scope: 'agent', id: 'late', daily_usd: 1 })
      await setBudget({ scope: 'fleet', daily_usd: 5 })
      const start = `printf %s "$OPENAI_API_KEY" > token; (setsid node attack.mjs late ${model} background log >/dev/null 2>&1 &); until grep -qs ' 200' log; do sleep 0.1; done; cut -d' ' -f3- log | sort | uniq -c`
      expect(await inside('late', start)).toMatch(/\d 200/)
      const [overAt, before] = [Date.now(), upstream.calls.length]
      await sleep(2000)
      expect(upstream.calls.length).toBeLessThanOrEqual(before + 1)
      const looksAt = Date.now()
      // The command itself starts a run of the agent, so only calls that had ended before it count.
      const lines = (await inside('late', 'tail -n 400 log'))
        .split('\n')
        .map((line) => line.trim().split(' '))
      const answers = lines
        .filter(([beganAt, endedAt]) => Number(beganAt) >= overAt && Number(endedAt) < looksAt)
        .map(([, , answer]) => answer)
      expect(answers).toContain('403')
      expect(answers).not.toContain('200')
      const restarted = await mesh.call(meshHumanEndpoints.agentRestart, {
        params: { id: 'late' },
        timeoutMs: patient(60_000),
      })
      expect(restarted.status, restarted.text).toBe(200)
      const served = upstream.calls.length
      expect(await inside('late', `node attack.mjs late ${model} with-token token`)).toContain(
        '"revoked 401":5',
      )
      expect(upstream.calls.length).toBe(served)
      await expectAllBooked()
    })
  },
  found,
)
