import type { AgentEdit } from '@flotilla/protocol/agent-edit'
import type { PermissionStore } from '@flotilla/identity/access'
import { emptyRecord } from '@flotilla/identity/access'
import { expect, test } from 'vitest'
import { editPermissions } from './edit-permissions.ts'

test('a change of permissions and its undo are recorded under the name of the person who made each', async () => {
  let records: Parameters<Parameters<PermissionStore['edit']>[0]>[0] = { scout: emptyRecord }
  const actors: (string | undefined)[] = []
  const edit: PermissionStore['edit'] = async (change, actor) => {
    records = change(records)
    actors.push(actor)
  }
  const field = editPermissions({ permissions: { edit }, holdCeiling: () => {} })
  const asked = {
    field: 'permissions',
    value: { set: { can_spawn: true }, add: {}, remove: {} },
    reason: '',
  } as const satisfies AgentEdit
  const ada = { kind: 'human', role: 'owner', channel: 'dashboard', person: 'ada' } as const
  await field.apply(ada, { agentId: 'scout', edit: asked, begin: () => {} })
  await field.putBack(
    { kind: 'human', role: 'owner', channel: 'cli' },
    {
      agentId: 'scout',
      before: { can_spawn: false },
      after: { can_spawn: true },
      isResumed: false,
    },
  )
  expect(actors).toEqual(['human:ada@dashboard', 'human:cli'])
  expect(records['scout']?.can_spawn).toBe(false)
})
