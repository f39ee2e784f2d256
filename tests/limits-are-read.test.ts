import { describe, expect, test } from 'vitest'
import { watchLimits } from '../packages/protocol/src/blackboard-limits.ts'
import {
  contextLimits,
  jsonLimits,
  limits,
  memoryLimits,
  spawnLimits,
  templateLimits,
  wireLimits,
} from '../packages/protocol/src/limits.ts'
import { steerLimits } from '../packages/protocol/src/steer-limits.ts'
import { readSourceFiles } from './source-files.ts'

const stated = {
  limits,
  memoryLimits,
  wireLimits,
  jsonLimits,
  contextLimits,
  spawnLimits,
  templateLimits,
  watchLimits,
  steerLimits,
}
const home = 'packages/protocol/src/limits.ts'
const production = readSourceFiles()
  .filter(({ path, isTest }) => path.startsWith('packages/') && !isTest && path !== home)
  .map(({ text }) => text)

/** True if the sources read `limits.redirectsMax`, or destructure it: `{ redirectsMax } = limits`. */
function isRead(table: string, name: string): boolean {
  const direct = new RegExp(`\\b${table}\\.${name}\\b`)
  const taken = new RegExp(`\\{[^}]*\\b${name}\\b[^}]*\\} = ${table}\\b`)
  return production.some((text) => direct.test(text) || taken.test(text))
}

describe('a limit that is stated', () => {
  test.each(
    Object.entries(stated).flatMap(([table, rows]) =>
      Object.keys(rows).map((name) => [table, name] as const),
    ),
  )('%s.%s is what the product goes by', (table, name) => {
    expect(isRead(table, name)).toBe(true)
  })
})
