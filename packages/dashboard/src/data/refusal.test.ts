import { describe, expect, it } from 'vitest'
import type { PersonRole } from '@flotilla/protocol/people'
import { refusalOf } from './refusal.ts'

const me = (role: PersonRole, agents: string[] = []) => ({ name: 'ann', role, agents })

describe('a button', () => {
  it('a button is disabled until the mesh has said who is signed in', () => {
    expect(refusalOf(undefined, { call: 'status' })).toContain('still being loaded')
  })

  it('a button of an owner is free, whatever the agent', () => {
    expect(refusalOf(me('owner'), { call: 'agentRestart', agent: 'ada' })).toBeNull()
    expect(refusalOf(me('owner'), { call: 'agentCreate' })).toBeNull()
  })

  it('a button of a member is free on granted agents, and on no other', () => {
    expect(refusalOf(me('member', ['ada']), { call: 'agentRestart', agent: 'ada' })).toBeNull()
    expect(refusalOf(me('member', ['*']), { call: 'agentRestart', agent: 'bob' })).toBeNull()
    expect(refusalOf(me('member', ['ada']), { call: 'agentRestart', agent: 'bob' })).toContain(
      'no access to the agent bob',
    )
    expect(refusalOf(me('member', ['*']), { call: 'chat', agent: 'operator' })).toContain(
      'no access to the agent operator',
    )
  })

  it('a button of a member that wants an owner by its call, or by what it does, says so', () => {
    const wantsOwner = 'Only owners may do this; you are a member.'
    expect(refusalOf(me('member', ['*']), { call: 'agentCreate' })).toBe(wantsOwner)
    const deed = { call: 'agentEdit', agent: 'ada', wants: 'owner' } as const
    expect(refusalOf(me('member', ['ada']), deed)).toBe(wantsOwner)
  })

  it('a button of a viewer looks and does nothing else', () => {
    expect(refusalOf(me('viewer', ['ada']), { call: 'runs' })).toBeNull()
    expect(refusalOf(me('viewer', ['ada']), { call: 'chat', agent: 'ada' })).toContain(
      'may read but not change',
    )
  })
})
