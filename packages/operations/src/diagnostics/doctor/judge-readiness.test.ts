import { expect, test } from 'vitest'
import { judgeReadiness } from './judge-readiness.ts'
import type { ReadinessInput } from './judge-readiness.ts'

const whole: ReadinessInput = {
  permissions: null,
  settings: null,
  policy: null,
  walls: null,
  journal: null,
  disk: null,
  jobs: null,
  money: null,
  serving: true,
}

test('agents run if nothing is wrong', () => {
  expect(judgeReadiness(whole)).toEqual({ ready: true, problems: [] })
})

test.each<[Partial<ReadinessInput>, string, boolean]>([
  [{ permissions: 'line 1' }, 'permissions-broken', true],
  [{ walls: 'canary' }, 'walls', true],
  [{ disk: { code: 'disk-full', detail: '3 MB' } }, 'disk-full', true],
  [{ disk: { code: 'storage-failing', detail: 'read-only' } }, 'storage-failing', true],
  [{ serving: false }, 'starting', true],
  [{ journal: 'row 4' }, 'journal-broken', false],
  [{ settings: 'line 2' }, 'settings-broken', false],
  [{ policy: 'line 5' }, 'policy-broken', false],
  [{ jobs: 'line 3' }, 'cron-broken', false],
  [{ money: 'a sum' }, 'money-corrected', false],
])('%j is reported as %s, with whether it stops agents', (fault, id, stops) => {
  const { ready, problems } = judgeReadiness({ ...whole, ...fault })
  expect(problems).toMatchObject([{ id, stops_agents: stops }])
  expect(ready).toBe(!stops)
})
