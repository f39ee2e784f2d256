import { describe, expect, it } from 'vitest'
import { parseAssignments } from './permission-assignments.ts'

describe('permission assignments', () => {
  it.each([
    ['can_spawn=true', { set: { can_spawn: true } }],
    ['can_message=a,b', { set: { can_message: ['a', 'b'] } }],
    ['can_message=', { set: { can_message: [] } }],
    ['can_message=["a, b"]', { set: { can_message: ['a, b'] } }],
    ['blackboard_write+=output/**', { add: { blackboard_write: ['output/**'] } }],
    ['can_message-=a', { remove: { can_message: ['a'] } }],
    ['wallet_spend_limit_daily_usd=2.5', { set: { wallet_spend_limit_daily_usd: 2.5 } }],
    ['browser_actions=null', { set: { browser_actions: null } }],
    ['browser_actions=click', { set: { browser_actions: ['click'] } }],
  ])('%s', (word, expected) => {
    expect(parseAssignments([word])).toEqual({ set: {}, add: {}, remove: {}, ...expected })
  })

  it.each([
    'can_fly=true',
    'can_spawn=yes',
    'can_spawn+=a',
    'can_message',
    'wallet_rate_limit_per_hour=many',
    'can_message=["a"',
  ])('the reader of permission assignments refuses %s and names the fields', (word) => {
    expect(() => parseAssignments([word])).toThrow(
      expect.objectContaining({ code: 'bad-permission', repair: expect.stringContaining('can_publish') }),
    )
  })

  it('the reader of permission assignments gathers several into one change', () => {
    expect(parseAssignments(['can_message+=a', 'can_message+=b,c', 'can_message-=d'])).toEqual({
      set: {},
      add: { can_message: ['a', 'b', 'c'] },
      remove: { can_message: ['d'] },
    })
  })
})
