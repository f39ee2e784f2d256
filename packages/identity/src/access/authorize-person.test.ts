import { personRoles } from '@flotilla/protocol/people'
import { describe, expect, test } from 'vitest'
import type { Action } from './action.ts'
import { authorize } from './authorize.ts'
import type { HumanCaller } from './caller.ts'
import { actorOf, ownerOfActor } from './caller.ts'

const records = { broken: null, recordOf: () => undefined }
const person = (role: HumanCaller['role'], agents: readonly string[] = []): HumanCaller => ({
  kind: 'human',
  channel: 'cli',
  role,
  person: 'ann',
  agents,
})
const may = (caller: HumanCaller, action: Action) => authorize(records, caller, action)

const looking: readonly Action[] = [
  { do: 'view-fleet' },
  { do: 'list-agents' },
  { do: 'read-blackboard', key: 'a' },
]
const onAda: readonly Action[] = [
  { do: 'submit-run', to: 'ada' },
  { do: 'message-agent', to: 'ada' },
  { do: 'steer-agent', to: 'ada', gave: false },
  { do: 'manage-agent', agentId: 'ada' },
  { do: 'edit-agent-config', agentId: 'ada' },
]
/** Actions that also concern a particular agent. */
const byMembers: readonly Action[] = [{ do: 'manage-cron' }, { do: 'route-tasks' }]
const ownersAlone: readonly Action[] = [
  { do: 'edit-agent-config', agentId: 'ada', what: 'permissions' },
  { do: 'edit-agent-config', agentId: 'ada', what: 'MCP servers' },
  { do: 'manage-fleet' },
  { do: 'manage-projects' },
  { do: 'manage-credentials' },
  { do: 'manage-people' },
  { do: 'pause-work' },
  { do: 'manage-webhooks' },
  { do: 'make-webhooks' },
  { do: 'publish-topic', topic: 't' },
  { do: 'subscribe-topic', topic: 't' },
  { do: 'write-blackboard', key: 'a' },
  { do: 'use-wallet', chain: 'ethereum' },
  { do: 'spawn-agent' },
]

describe('a viewer', () => {
  test.each(looking)('a viewer may $do', (action) => {
    expect(may(person('viewer'), action).allowed).toBe(true)
  })

  test.each([...onAda, ...ownersAlone, ...byMembers])(
    'a viewer may not $do, whatever an entry grants',
    (action) => {
      expect(may(person('viewer', ['ada', '*']), action)).toMatchObject({ allowed: false })
    },
  )
})

describe('a member', () => {
  test.each([...looking, ...onAda, ...byMembers])('a member with the agent ada may $do', (action) => {
    expect(may(person('member', ['ada']), action).allowed).toBe(true)
  })

  test.each(onAda)(
    'a member of other agents may not $do on ada, and the refusal names their agents',
    (action) => {
      expect(may(person('member', ['bob']), action)).toEqual({
        allowed: false,
        field: null,
        reason: 'agent ada is not among the agents granted to this person; ann is a member of bob',
      })
      expect(may(person('member'), action).allowed).toBe(false)
    },
  )

  test.each(ownersAlone)('a member may not $do', (action) => {
    expect(may(person('member', ['*', 'ada']), action).allowed).toBe(false)
  })

  test('a member of * may act on every worker but on the operator only if it is named', () => {
    const operator = { do: 'submit-run', to: 'operator' } as const
    expect(may(person('member', ['*']), { do: 'submit-run', to: 'zoe' }).allowed).toBe(true)
    expect(may(person('member', ['*']), operator).allowed).toBe(false)
    expect(may(person('member', ['operator']), operator).allowed).toBe(true)
  })

  test('a member is refused an unknown agent and an action that no rule covers', () => {
    expect(may(person('member', ['*', 'ada']), { do: 'launch-rockets' } as unknown as Action).allowed).toBe(
      false,
    )
    expect(may(person('member', ['ada']), { do: 'manage-agent', agentId: '' }).allowed).toBe(false)
  })
})

describe('a route', () => {
  test('a route is open from its role up', () => {
    const open = personRoles.map((wanted) =>
      personRoles.filter((role) => may(person(role), { do: 'call-route', role: wanted }).allowed),
    )
    expect(open).toEqual([['viewer', 'member', 'owner'], ['member', 'owner'], ['owner']])
  })

  test('a route without a role is closed', () => {
    for (const role of personRoles) {
      expect(may(person(role), { do: 'call-route', role: null }).allowed).toBe(false)
    }
  })
})

describe('the journal', () => {
  test('the journal names the person, and an unnamed owner by the channel', () => {
    expect(actorOf(person('member'))).toBe('human:ann@cli')
    expect(actorOf({ kind: 'human', channel: 'api', role: 'owner' })).toBe('human:api')
  })

  test.each(['human:cli', 'human:ann@api'])(
    'the journal finds the owner again who decided something as %s',
    (actor) => {
      expect(ownerOfActor(actor)).toMatchObject({ kind: 'human', role: 'owner' })
      expect(actorOf(ownerOfActor(actor))).toBe(actor)
    },
  )
})
