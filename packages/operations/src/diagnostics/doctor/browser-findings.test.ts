import { expect, test } from 'vitest'
import { browserFindings, captchaFindings } from './browser-findings.ts'

test('a failed network filter is an error, and other browser failures are warnings', () => {
  const [walls, ended, ...more] = browserFindings([
    {
      agent_id: 'ada',
      reason: 'browser-walls-open: the network filter of browsers does not work: agents-closed',
    },
    {
      agent_id: 'bob',
      reason:
        'the container of the browser ended with exit code 78: The egress filter does not stand: iptables',
    },
  ])
  expect(walls).toMatchObject({
    id: 'browser-walls-open',
    level: 'error',
    detail: expect.stringContaining('ada'),
  })
  expect(ended).toMatchObject({
    id: 'browser',
    level: 'warning',
    detail: expect.stringContaining('exit code 78'),
  })
  expect(more).toEqual([])
})

test('the finding of a CAPTCHA solver names its limits and its cooldown, and is absent without a solver', () => {
  const solver = { host: 'solver.example', per_hour: 7, daily_usd: 0.5, rests_until: null }
  expect(captchaFindings(null)).toEqual([])
  expect(captchaFindings(solver)).toEqual([
    expect.objectContaining({
      level: 'ok',
      detail: expect.stringMatching(/solver\.example, at most 7 an hour and USD 0\.5 a day.*may forbid/),
    }),
  ])
  expect(captchaFindings({ ...solver, rests_until: Date.parse('2026-11-23T12:00:00Z') })).toEqual([
    expect.objectContaining({ level: 'warning', detail: expect.stringContaining('until 2026-11-23T12:00') }),
  ])
})
