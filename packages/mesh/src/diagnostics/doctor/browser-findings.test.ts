import { expect, test } from 'vitest'
import { browserFindings } from './browser-findings.ts'

test('names a wall that does not hold as an error, and every other end as a warning', () => {
  const [walls, ended, ...more] = browserFindings([
    { agent_id: 'ada', reason: 'browser-walls-open: what keeps browsers in does not hold: agents-closed' },
    { agent_id: 'bob', reason: 'its container ended with 78: The egress filter does not stand: iptables' },
  ])
  expect(walls).toMatchObject({
    id: 'browser-walls-open',
    level: 'error',
    detail: expect.stringContaining('ada'),
  })
  expect(ended).toMatchObject({ id: 'browser', level: 'warning', detail: expect.stringContaining('with 78') })
  expect(more).toEqual([])
})
