import { describe, expect, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { migrated } from '../../../testing/src/ledger-harness.ts'
import { createPolicyUse } from './policy-use.ts'

const details = { tool: 'http_request', method: 'POST', host: 'a.test', path: '/x', credentials: ['k'] }
const decided = (verdict: 'allow' | 'ask' | 'deny', rule: string | null = 'r') =>
  ({ verdict, rule, line: 1, reason: '' }) as const

function aUse() {
  const database = migrated()
  const clock = createManualClock()
  const opened = () => createPolicyUse({ database, clock, log: silentLog })
  return { use: opened(), opened, clock }
}
const all = { agentId: null, since: 0, limit: 1000 }

describe('the use of the policy', () => {
  test('counts every decision of a rule, also over a restart, and none without a rule', () => {
    const { use, opened } = aUse()
    for (const verdict of ['allow', 'ask', 'deny'] as const) use.note('scout', { details }, decided(verdict))
    use.note('scout', { details }, decided('allow', null))
    expect(use.hits().get('r')).toMatchObject({ hits: 3 })
    const after = opened()
    after.note('scout', { details }, decided('allow'))
    expect(after.hits().get('r')).toMatchObject({ hits: 4 })
    expect(after.hits().size).toBe(1)
  })

  test('keeps what was asked for or denied once with its number, latest first', async () => {
    const { use, clock } = aUse()
    use.note('scout', { details }, decided('ask'))
    use.note('scout', { details }, decided('allow'))
    await clock.advance(1000)
    use.note('other', { details: { tool: 'mcp', mcpServer: 'crm', mcpTool: null } }, decided('deny', 's'))
    await clock.advance(1000)
    use.note('scout', { details }, decided('ask'))
    expect(use.stops(all)).toMatchObject([
      { agentId: 'scout', rule: 'r', verdict: 'ask', effect: details, count: 2 },
      { agentId: 'other', rule: 's', verdict: 'deny', effect: { mcpServer: 'crm', mcpTool: null }, count: 1 },
    ])
    expect(use.stops({ ...all, agentId: 'other' })).toHaveLength(1)
    expect(use.stops({ ...all, since: clock.now() + 1 })).toEqual([])
  })

  test('keeps work of different origins apart, and reads origins only of what was stopped', () => {
    const { use } = aUse()
    use.note('scout', { details, originsOf: () => ['human'] }, decided('ask'))
    use.note('scout', { details, originsOf: () => ['cron', 'agent'] }, decided('ask'))
    use.note('scout', { details, originsOf: () => ['human'] }, decided('ask'))
    use.note('scout', { details, originsOf: () => null }, decided('ask'))
    use.note('scout', { details, originsOf: () => expect.fail('the origins were read') }, decided('allow'))
    const kept = use.stops(all).map(({ origins, count, effect }) => ({ origins, count, effect }))
    expect(kept).toHaveLength(3)
    expect(kept).toContainEqual({ origins: ['human'], count: 2, effect: details })
    expect(kept).toContainEqual({ origins: ['cron', 'agent'], count: 1, effect: details })
    expect(kept).toContainEqual({ origins: null, count: 1, effect: details })
  })

  test('keeps the latest effects of an agent up to a limit, and none of a deleted one', async () => {
    const { use, clock } = aUse()
    for (let count = 0; count < 300; count++) {
      use.note('scout', { details: { ...details, path: `/${count}` } }, decided('deny'))
      await clock.advance(1)
    }
    const kept = use.stops(all)
    expect(kept).toHaveLength(200)
    expect(kept[0]).toMatchObject({ effect: { path: '/299' } })
    use.forget('scout')
    expect(use.stops(all)).toEqual([])
  })

  test('keeps the counts of the rules that decided last, up to twice the rules of a file', async () => {
    const { use, opened, clock } = aUse()
    for (let count = 0; count < 2003; count++) {
      use.note('scout', { details }, decided('allow', `r${count}`))
      await clock.advance(1)
    }
    expect(use.hits().size).toBe(2000)
    const kept = opened().hits().size
    expect(kept).toBe(2000)
    expect(use.hits().has('r2')).toBe(false)
    expect(use.hits().get('r3')).toMatchObject({ hits: 1 })
  })

  test('cuts long texts of an agent', () => {
    const { use } = aUse()
    use.note('scout', { details: { ...details, path: `/${'x'.repeat(5000)}` } }, decided('deny'))
    expect(use.stops(all)[0]?.effect.path).toHaveLength(300)
  })
})
