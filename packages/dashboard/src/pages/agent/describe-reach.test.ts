import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import { expect, it } from 'vitest'
import { describeReach } from './describe-reach.ts'

const reach = (part: Parameters<typeof permissionRecordSchema.parse>[0]) =>
  describeReach('scribe', permissionRecordSchema.parse(part))

it('what an agent may reach is one sentence, and so is nothing', () => {
  expect(reach({})).toBe(
    'scribe may reach nothing beyond its own files; it may not ask other agents, reach the web by its tools, use credentials or pay.',
  )
  expect(
    reach({
      can_message: ['operator', 'courier'],
      allowed_apis: ['llm', 'http', 'web_search'],
      can_use_browser: true,
      blackboard_read: ['*'],
      can_use_wallet: true,
    }),
  ).toBe(
    'scribe may ask operator and courier, reach the web by requests, searches and a browser, read the whole blackboard and pay from the wallet; it may not use credentials.',
  )
})

it('a long list is counted, and `*` is all', () => {
  expect(reach({ allowed_credentials: ['a', 'b', 'c', 'd', 'e'] })).toContain(
    'use a, b, c and 2 more as credentials',
  )
  expect(reach({ can_message: ['*'], allowed_apis: ['*'] })).toContain(
    'ask any agent and reach the web by requests and searches',
  )
})
