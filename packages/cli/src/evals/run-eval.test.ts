import type { MeshClient } from '@flotilla/client/mesh-client'
import { describe, expect, test } from 'vitest'
import { readEvalFile } from './eval-file.ts'
import { runEval } from './run-eval.ts'
import type { EvalDeps } from './run-eval.ts'

/** A mesh whose every run costs its limit, or the given amount. */
function aMesh({ costUsd }: { readonly costUsd?: number } = {}) {
  const seen = { most: 0, now: 0, caps: [] as (number | undefined)[], sessions: [] as string[] }
  const client = {
    async *chatStream(_agent: string, message: string, options: { maxUsd?: number; session?: string }) {
      seen.now += 1
      seen.most = Math.max(seen.most, seen.now)
      seen.caps.push(options.maxUsd)
      seen.sessions.push(options.session ?? '')
      yield { type: 'accepted', run_id: 'run_1' }
      await new Promise((resolve) => setImmediate(resolve))
      seen.now -= 1
      yield {
        type: 'ended',
        run: {
          id: 'run_1',
          state: 'done',
          cost_usd: costUsd ?? options.maxUsd ?? 0,
          outcome: { status: 'done', text: message },
        },
      }
    },
  }
  let keys = 0
  const notified: string[] = []
  const deps: EvalDeps = {
    client: client as unknown as MeshClient, // what an evaluation without files and judges asks of it
    clock: { now: () => 0, sleep: async () => undefined },
    newKey: () => `key${(keys += 1)}`,
    signal: new AbortController().signal,
    programFolder: null,
    onCase: ({ name }, done) => void notified.push(`${done} ${name}`),
  }
  return { deps, seen, told: notified }
}

const cases = (count: number, more = '') =>
  readEvalFile(
    `name: x\nagent: a\n${more}cases:\n${Array.from({ length: count }, (_, at) => `  - { name: c${at}, ask: q${at}, checks: [{ equals: q${at} }] }`).join('\n')}\n`,
    undefined,
  )

describe('an evaluation', () => {
  test('an evaluation plays no more cases at a time than it may, and each in a conversation of its own', async () => {
    const { deps, seen, told } = aMesh()
    const result = await runEval(deps, cases(20, 'concurrency: 3\n'), null)
    expect(result).toMatchObject({ score: 1, passed: true })
    expect(seen.most).toBe(3)
    expect(new Set(seen.sessions).size).toBe(20)
    expect(told).toHaveLength(20)
    expect(result.cases.map(({ name }) => name)).toEqual(Array.from({ length: 20 }, (_, at) => `c${at}`))
  })

  test.each([1, 2, 5])(
    'an evaluation never spends more than the file allows, %i at a time',
    async (concurrency) => {
      const { deps, seen } = aMesh()
      const file = cases(30, `max_usd: 1\nconcurrency: ${concurrency}\n`)
      const result = await runEval(deps, file, null)
      expect(result.cost_usd).toBeLessThanOrEqual(1 + 1e-9)
      expect(seen.caps.every((cap) => cap !== undefined && cap > 0 && cap <= 1)).toBe(true)
      expect(result.cases).toHaveLength(30)
    },
  )

  test('an evaluation begins nothing more when the money is used, and says so', async () => {
    const { deps, seen } = aMesh()
    const result = await runEval(deps, cases(3, 'max_usd: 0.5\nconcurrency: 1\n'), null)
    expect(seen.caps).toEqual([0.5])
    expect(result.passed).toBe(false)
    expect(result.cases.slice(1).map(({ failures }) => failures)).toEqual([
      ['the 0.5 USD of the file are used'],
      ['the 0.5 USD of the file are used'],
    ])
  })

  test('an evaluation caps a case at its own ceiling, and passes at the bar', async () => {
    const { deps, seen } = aMesh({ costUsd: 0.01 })
    const file = cases(2)
    const [first, second] = file.cases
    const capped = { ...first!, max_usd: 0.02 }
    const wrong = { ...second!, checks: [{ equals: 'another' }] }
    const result = await runEval(deps, { ...file, bar: 0.5, cases: [capped, wrong] }, null)
    expect(seen.caps).toEqual([0.02, undefined])
    expect(result).toMatchObject({ score: 0.5, passed: true, cost_usd: 0.02 })
    expect((await runEval(deps, { ...file, bar: 0.51, cases: [capped, wrong] }, null)).passed).toBe(false)
  })
})
