import { expect, test } from 'vitest'
import type { Caller } from '../../../identity/src/access/index.ts'
import { createFleetStatus } from './fleet-status.ts'
import type { StatusNeeds } from './fleet-status.ts'

test('only owners, and only outside of chats, see why the wallet is halted, and what settings have no effect', () => {
  const halt = { reason: 'on base, 0x1 has sent 3 transactions', next: 'flotilla wallet resume' }
  const needs: Partial<StatusNeeds> = {
    home: { folder: '/home/fleet', pid: 1 },
    uptimeSeconds: () => 1,
    walletHalt: () => halt,
    notices: () => ['a setting has no effect'],
    readiness: () => ({ ready: true, problems: [] }),
  }
  const others = Object.fromEntries(
    ['runtime', 'defaultModel', 'pauses', 'agents', 'runs', 'metrics'].map((name) => [name, () => []]),
  )
  const { read } = createFleetStatus({ guard: () => {} }, { ...others, ...needs } as StatusNeeds)
  const person = (role: 'owner' | 'member' | 'viewer'): Caller => ({ kind: 'human', channel: 'cli', role })
  expect(read(person('owner')).wallet_halt).toEqual(halt)
  expect(read(person('owner')).notices).toEqual(['a setting has no effect'])
  expect(read(person('viewer')).notices).toEqual([])
  for (const role of ['member', 'viewer'] as const) expect(read(person(role)).wallet_halt).toBeNull()
  const chat: Caller = { kind: 'human', channel: 'telegram', role: 'owner' }
  expect(read(chat).wallet_halt).toBeNull()
})
