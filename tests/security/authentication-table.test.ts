import { afterAll, beforeAll, expect, test } from 'vitest'
import { rolesOfRoutes } from '@flotilla/protocol/people-roles'
import { allEndpoints } from '../support/all-endpoints.ts'
import { aPowerCutHome } from '../support/power-cut-home.ts'
import type { PowerCutHome } from '../support/power-cut-home.ts'
import { neededActions, offeredRoutes } from '../support/offered-routes.ts'
import { authenticationTable } from './authentication-table.ts'

let home: PowerCutHome
beforeAll(async () => void (home = await aPowerCutHome([])))
afterAll(() => home.close())

test('every route has exactly the gate that the table names', async () => {
  const offered = await home.with(({ modules }) => offeredRoutes(modules.map(([, module]) => module)))
  const { people, ...others } = authenticationTable
  expect(offered).toEqual({ ...others, people: Object.keys(people) })
  const all = Object.values(offered).flat()
  expect(new Set(all).size).toBe(all.length)
  const declared = await allEndpoints()
  expect(all.filter((route) => !declared.has(route))).toEqual([])
})

test('every route of people wants the least role that the table names, and no other route has one', () => {
  expect(rolesOfRoutes).toEqual(authenticationTable.people)
})

test('no body is read of a call that method and path refuse already', async () => {
  const needed = await home.with(({ modules }) => neededActions(modules.map(([, module]) => module)))
  const llm = { do: 'call-api', api: 'llm' }
  expect(needed).toEqual({
    'POST /mesh/tasks': { do: 'route-tasks' },
    'POST /mesh/spawn': { do: 'spawn-agent' },
    'POST /mesh/http': { do: 'call-api', api: 'http' },
    'POST /mesh/browser/{action}': { do: 'use-browser', browserAction: '' },
    'POST /mesh/mcp': { do: 'call-api', api: 'http' },
    'POST /mesh/web-search': { do: 'call-api', api: 'web_search' },
    'POST /mesh/credentials/requests': { do: 'request-credential' },
    'PUT /mesh/blackboard/{*key}': { do: 'write-blackboard', key: 'a/b' },
    'POST /mesh/projects/{name}/manage': { do: 'manage-projects', project: '' },
    'PUT /mesh/projects/{name}/text': { do: 'manage-projects', project: '' },
    'POST /v1/chat/completions': llm,
    'POST /v1/messages': llm,
    'POST /v1/responses': llm,
    'POST /v1/embeddings': llm,
    'POST /v1/messages/count_tokens': llm,
    'POST /v1/models/{*call}': llm,
    'POST /v1beta/models/{*call}': llm,
  })
})
