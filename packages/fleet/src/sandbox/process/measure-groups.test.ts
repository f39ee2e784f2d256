import process from 'node:process'
import { expect, test } from 'vitest'
import { measureGroups, processUse } from './measure-groups.ts'
import { readProcess } from './process-record.ts'

test('a line of the kernel is read though the name of the program is hostile', () => {
  const numbers = '7 7 0 -1 4194560 90 0 0 0 120 30 5 5 20 0 11 0 12345 1000000 256 18446744073709551615'
  expect(processUse(`42 (a) R 1 (b) S 1 ${numbers}`)).toEqual({
    group: 7,
    memoryBytes: 256 * 4096,
    cpuSeconds: 1.6,
  })
  expect(processUse('42 (a) S 1')).toBeNull()
})

test('a group that runs is measured, and one that does not is left out', async () => {
  const own = await readProcess(process.pid)
  const uses = await measureGroups([
    { agentId: 'here', pid: own?.group ?? 0 },
    { agentId: 'gone', pid: 2 ** 30 },
  ])
  expect([...uses.keys()]).toEqual(['here'])
  expect(uses.get('here')?.memoryBytes).toBeGreaterThan(1_000_000)
})
