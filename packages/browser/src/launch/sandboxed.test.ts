import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isSandboxed } from './sandboxed.ts'

type Process = readonly [commandLine: string, ids: string, filters: number]
const page = '/usr/lib/chromium/chromium --type=renderer --x'

function processes(...found: readonly Process[]): string {
  const root = mkdtempSync(join(tmpdir(), 'proc-'))
  for (const [at, [commandLine, ids, filters]] of [['node', '8', 1] as const, ...found].entries()) {
    const folder = join(root, at === 0 ? 'self' : String(at))
    mkdirSync(folder)
    writeFileSync(join(folder, 'cmdline'), commandLine)
    writeFileSync(join(folder, 'status'), `Name:\tx\nNSpid:\t${ids}\nSeccomp_filters:\t${filters}\n`)
  }
  return root
}

test.each<[words: string, found: readonly Process[], isIn: boolean]>([
  ['is said where pages have ids and filters of their own', [[page, '201\t25\t1', 2]], true],
  ['is said of arguments with marks between them too', [[page.replaceAll(' ', '\0'), '9\t1', 2]], true],
  ['is not said without ids of their own', [[page, '201', 2]], false],
  ['is not said without a filter beyond the container’s', [[page, '201\t1', 1]], false],
  [
    'is not said where one of two is not',
    [
      [page, '201\t1', 2],
      [page, '202', 1],
    ],
    false,
  ],
  ['is not said where there is no page', [['/usr/bin/x --type=utility', '7\t1', 2]], false],
])('a sandbox %s', (_, found, isIn) => {
  expect(isSandboxed(processes(...found))).toBe(isIn)
})
