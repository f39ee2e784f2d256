import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import { describe, expect, test } from 'vitest'
import { workerDefaultRecord } from '../../../identity/src/access/default-records.ts'
import { childRecord, withheldFields } from './child-record.ts'

const all = permissionRecordSchema.parse({
  can_message: ['*'],
  blackboard_read: ['*'],
  blackboard_write: ['*'],
  allowed_apis: ['*'],
  allowed_credentials: ['*'],
  can_use_browser: true,
  can_manage_cron: true,
  can_spawn: true,
  can_use_wallet: true,
  can_manage_fleet: true,
  can_manage_projects: true,
  can_edit_agent_config: true,
  can_view_fleet_metrics: true,
  can_route_tasks: true,
  can_request_user_credentials: true,
})

describe('the record of a spawned agent', () => {
  test("a spawned agent gets a worker's record if its parent may do everything and nothing was requested", () => {
    expect(childRecord({ parent: all, fields: {}, maySpawn: true })).toEqual(workerDefaultRecord)
  })

  test('a spawned agent never gets rights that would outlive it or affect others', () => {
    expect(childRecord({ parent: all, fields: all, maySpawn: true })).toEqual({
      ...all,
      can_manage_cron: false,
      can_use_wallet: false,
      can_manage_fleet: false,
      can_manage_projects: false,
      can_edit_agent_config: false,
      can_view_fleet_metrics: false,
      can_route_tasks: false,
      can_request_user_credentials: false,
    })
  })

  test('a spawned agent may spawn only if its depth allows it', () => {
    const asked = { parent: all, fields: { can_spawn: true } }
    expect(childRecord({ ...asked, maySpawn: true }).can_spawn).toBe(true)
    expect(childRecord({ ...asked, maySpawn: false }).can_spawn).toBe(false)
  })

  test('a spawned agent has at most the rights of its parent', () => {
    const parent = permissionRecordSchema.parse({ allowed_apis: ['llm'], allowed_credentials: ['github_*'] })
    const fields = { allowed_apis: ['llm', 'http'], allowed_credentials: ['*'], can_message: ['*'] }
    expect(childRecord({ parent, fields, maySpawn: true })).toEqual({
      ...parent,
      allowed_credentials: ['github_*'],
    })
  })
})

describe('what of the asked fields it has less of', () => {
  const withheld = (asked: Parameters<typeof childRecord>[0]) => withheldFields(asked, childRecord(asked))

  test('no field is withheld if the record has all requested fields', () => {
    const fields = { allowed_apis: ['llm'], can_use_browser: true, can_spawn: true }
    expect(withheld({ parent: all, fields, maySpawn: true })).toEqual([])
  })

  test('each withheld field is reported with its reason', () => {
    const parent = permissionRecordSchema.parse({
      allowed_apis: ['llm'],
      can_use_wallet: true,
      can_spawn: true,
      wallet_rate_limit_per_hour: 3,
    })
    const fields = {
      allowed_apis: ['*'],
      allowed_credentials: ['github_*'],
      can_use_browser: true,
      can_use_wallet: true,
      can_route_tasks: true,
      can_spawn: true,
      wallet_rate_limit_per_hour: 5,
    }
    expect(withheld({ parent, fields, maySpawn: false })).toEqual([
      { field: 'allowed_apis', why: 'your own permission lists only llm' },
      { field: 'allowed_credentials', why: 'you do not have this permission' },
      { field: 'can_use_browser', why: 'you do not have this permission' },
      { field: 'can_use_wallet', why: 'a spawned agent never has this permission' },
      { field: 'can_route_tasks', why: 'a spawned agent never has this permission' },
      { field: 'can_spawn', why: 'agents at this depth may not spawn further agents' },
      { field: 'wallet_rate_limit_per_hour', why: 'your own limit is 3' },
    ])
  })
})
