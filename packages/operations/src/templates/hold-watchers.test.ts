import { expect, test } from 'vitest'
import type { Caller } from '../../../identity/src/access/index.ts'
import { requireMayWatch, requireWholeWatchers } from './hold-watchers.ts'
import { parseTemplate } from './template-file.ts'

const agents = 'agents: [{ id: a, role: r, instructions: go }]'
const without = parseTemplate('held', `name: held\ndescription: d\n${agents}`)
const watching = parseTemplate(
  'held',
  `name: held\ndescription: d\n${agents}\nwatchers: [{ path: /srv/in, pattern: '*', agent: a, message: m }]`,
)
const owner: Caller = { kind: 'human', role: 'owner', channel: 'cli' }
const operator: Caller = { kind: 'agent', agentId: 'operator', token: 'door', run: null }
const inChat: Caller = { kind: 'human', role: 'owner', channel: 'telegram', user: 'owner' }

test('only an owner at the terminal may apply watchers, and templates without watchers need no check', () => {
  for (const caller of [owner, operator, inChat]) expect(() => requireMayWatch(caller, without)).not.toThrow()
  expect(() => requireMayWatch(owner, watching)).not.toThrow()
  for (const caller of [operator, inChat]) {
    expect(() => requireMayWatch(caller, watching)).toThrow(
      expect.objectContaining({
        code: 'human-only',
        detail: expect.stringContaining('template held watches folders'),
        repair: expect.stringContaining('flotilla apply'),
      }),
    )
  }
})

test('a broken watchers file is not changed, and does not affect templates without watchers', () => {
  const broken = { broken: () => 'config/watchers.yaml line 3' }
  expect(() => requireWholeWatchers(watching, broken)).toThrow(
    expect.objectContaining({
      code: 'unprocessable',
      detail: expect.stringContaining('config/watchers.yaml line 3'),
      repair: expect.stringContaining('flotilla watchers check'),
    }),
  )
  expect(() => requireWholeWatchers(without, broken)).not.toThrow()
  expect(() => requireWholeWatchers(watching, { broken: () => null })).not.toThrow()
})
