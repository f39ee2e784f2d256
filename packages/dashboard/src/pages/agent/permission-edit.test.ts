import { agentEditSchema } from '@flotilla/protocol/agent-edit'
import { expect, it } from 'vitest'
import { permissionEdit, permissionFault, permissionKind, permissionText } from './permission-edit.ts'

it('a list changes by what comes and what goes, so that another edit of the same moment loses nothing', () => {
  const edit = permissionEdit('can_message', {
    before: ['operator', 'ann'],
    after: 'operator\n  bob \nbob\n\n',
    hasRecord: true,
  })
  expect(edit.value).toEqual({ set: {}, add: { can_message: ['bob'] }, remove: { can_message: ['ann'] } })
  expect(agentEditSchema.safeParse(edit).success).toBe(true)
})

it('whatever has no list to change is set whole: a flag, a number, all that are known, an agent without a record', () => {
  const of = (field: Parameters<typeof permissionEdit>[0], after: string, hasRecord = true) =>
    permissionEdit(field, { before: null, after, hasRecord }).value
  expect(of('can_spawn', 'yes')).toMatchObject({ set: { can_spawn: true } })
  expect(of('wallet_spend_limit_daily_usd', '2.5')).toMatchObject({
    set: { wallet_spend_limit_daily_usd: 2.5 },
  })
  expect(of('browser_actions', '*')).toMatchObject({ set: { browser_actions: ['*'] } })
  expect(permissionEdit('can_message', { before: [], after: 'ann', hasRecord: false }).value).toMatchObject({
    set: { can_message: ['ann'] },
    add: {},
  })
})

it('what is set whole names what it was, so that another edit of the same moment is not written over', () => {
  const of = (hasRecord: boolean) =>
    permissionEdit('can_spawn', { before: false, after: 'yes', hasRecord }).seen
  expect(of(true)).toEqual({ can_spawn: false })
  expect(of(false)).toBeUndefined()
})

it('what is no value of a permission is said before it is sent', () => {
  expect(permissionKind('wallet_rate_limit_per_hour')).toBe('number')
  expect(permissionFault('wallet_rate_limit_per_hour', '3')).toBeNull()
  for (const text of ['-1', '', 'many'])
    expect(permissionFault('wallet_rate_limit_per_hour', text)).not.toBeNull()
  expect(permissionFault('can_message', 'x'.repeat(201))).not.toBeNull()
})

it('walls are one of those that there are', () => {
  expect(permissionKind('required_isolation')).toBe('rung')
  expect(permissionFault('required_isolation', 'gvisor')).toBeNull()
  expect(permissionFault('required_isolation', 'none')).not.toBeNull()
  const edit = permissionEdit('required_isolation', { before: 'container', after: 'gvisor', hasRecord: true })
  expect(edit.value).toMatchObject({ set: { required_isolation: 'gvisor' } })
})

it('a value reads as it is written', () => {
  expect([true, false, null, ['a', 'b'], 3].map(permissionText)).toEqual(['yes', 'no', '*', 'a\nb', '3'])
})
