import { afterAll, beforeAll, expect, test } from 'vitest'
import { allEndpoints } from '../support/all-endpoints.ts'
import { aCutHome } from '../support/cut-door.ts'
import type { CutHome } from '../support/cut-door.ts'
import { offeredRoutes } from '../support/offered-routes.ts'
import { authenticationTable } from './authentication-table.ts'

let home: CutHome
beforeAll(async () => void (home = await aCutHome([])))
afterAll(() => home.close())

test('every route stands behind the gate that the table names, and none behind two', async () => {
  const offered = await home.with(({ modules }) => offeredRoutes(Object.values(modules)))
  expect(offered).toEqual(authenticationTable)
  const all = Object.values(offered).flat()
  expect(new Set(all).size).toBe(all.length)
  const declared = await allEndpoints()
  expect(all.filter((route) => !declared.has(route))).toEqual([])
})
