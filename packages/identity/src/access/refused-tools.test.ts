import { browserActionNames, browserToolName } from '@flotilla/protocol/browser-actions'
import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import { Problem } from '@flotilla/protocol/problem'
import { toolNeeds } from '@flotilla/protocol/tool-needs'
import { expect, test } from 'vitest'
import { heedsLesson, verifies } from '../../../../tests/verifies.ts'
import { workerDefaultRecord } from './default-records.ts'
import { createRefusedTools, refusedBy } from './refused-tools.ts'

const names = (record: object) => refusedBy(permissionRecordSchema.parse(record)).map(({ tool }) => tool)

test('a record that holds nothing makes every tool useless that needs something', () => {
  heedsLesson(127)
  verifies('resources:worker:tools-by-permission')
  expect(names({})).toEqual(Object.keys(toolNeeds))
  expect(refusedBy(permissionRecordSchema.parse({}))[0]).toEqual({
    tool: 'http_request',
    reason: 'allowed_apis does not list http',
  })
})

test('a granted permission makes its tools available', () => {
  expect(names({ allowed_apis: ['web_search'] })).not.toContain('web_search')
  expect(names({ allowed_apis: ['*'] })).not.toContain('http_request')
  expect(names({ can_message: ['ann'], can_route_tasks: true })).not.toContain('hand_off')
  expect(names({ can_message: ['ann'] })).toContain('hand_off')
  expect(names({ can_route_tasks: true })).toContain('hand_off')
  expect(names({ can_request_user_credentials: true })).not.toContain('request_credential')
})

test('a new worker may all but what routing, projects, topics, jobs, the wallet, spawning, browsers and credentials need', () => {
  expect(refusedBy(workerDefaultRecord).map(({ tool }) => tool)).toEqual([
    'hand_off',
    'review_task',
    'manage_task',
    'publish_signal',
    'subscribe_topic',
    'unsubscribe_topic',
    'read_signals',
    'vault_generate_secret',
    'inspect_projects',
    'manage_project',
    'write_project',
    'set_cron',
    'remove_cron',
    'wallet_address',
    'wallet_balance',
    'wallet_read_contract',
    'wallet_simulate',
    'wallet_transfer',
    'wallet_execute',
    'wallet_payments',
    'spawn_fleet_agent',
    'request_credential',
    ...browserActionNames.map(browserToolName),
  ])
})

test('a member of a project may use what that shares, with no pattern and no flag', () => {
  const nothing = permissionRecordSchema.parse({})
  const tools = (isMember: boolean) => refusedBy(nothing, isMember).map(({ tool }) => tool)
  for (const tool of ['inspect_projects', 'read_blackboard', 'write_blackboard', 'publish_signal']) {
    expect([tools(false).includes(tool), tools(true).includes(tool)]).toEqual([true, false])
  }
  expect(tools(true)).toEqual(expect.arrayContaining(['manage_project', 'hand_off']))
})

test('the guard is asked first', () => {
  const refusedTools = createRefusedTools({
    guard: () => {
      throw new Problem('denied')
    },
    permissions: {
      snapshot: () => {
        throw new Error('nothing is read before the guard')
      },
    },
  })
  expect(() => refusedTools({ kind: 'human', role: 'owner', channel: 'cli' })).toThrow(
    expect.objectContaining({ code: 'denied' }),
  )
})
