import { expect, test } from 'vitest'
import { agentApi } from './agent-api.ts'
import { keptLimits } from './kept-api.ts'
import { memoryLimits, workspaceTextMaxChars } from './limits.ts'

const entry = { name: 'a', kind: 'file', size_bytes: 0 }
const folder = (...entries: unknown[]) => ({ path: '', entries, more: false })
const source = { run_id: '', tool: '', origin: '', channel: '', urls: [] as string[] }
const times = { created_at: 0, last_used_at: 0, use_count: 0 }
const fact = { id: 'fact_1', key: null, text: '', category: '', trust: 'self', source, ...times }
const facts = (...some: unknown[]) => ({ facts: some, total: 1, more: false })
const letters = (count: number) => 'x'.repeat(count)

test.each([
  ['names', (n: number) => folder({ ...entry, name: letters(n) }), keptLimits.nameMaxChars],
  ['entries', (n: number) => folder(...Array.from({ length: n }, () => entry)), keptLimits.folderEntriesMax],
])('a folder has %s up to the bound and none beyond', (_what, made, max) => {
  const { response } = agentApi.fileList
  expect(response.safeParse(made(max)).success).toBe(true)
  expect(response.safeParse(made(max + 1)).success).toBe(false)
})

test.each([-1, 0.5])('no file has %s bytes', (size_bytes) => {
  expect(agentApi.fileList.response.safeParse(folder({ ...entry, size_bytes })).success).toBe(false)
})

test.each([
  ['facts', (n: number) => facts(...Array.from({ length: n }, () => fact)), keptLimits.factsMax],
  ['text', (n: number) => facts({ ...fact, text: letters(n) }), memoryLimits.factTextMaxChars],
  ['keys', (n: number) => facts({ ...fact, key: letters(n) }), memoryLimits.factKeyMaxChars],
  ['categories', (n: number) => facts({ ...fact, category: letters(n) }), memoryLimits.factCategoryMaxChars],
  [
    'tools',
    (n: number) => facts({ ...fact, source: { ...source, tool: letters(n) } }),
    memoryLimits.sourceWordMaxChars,
  ],
  [
    'addresses',
    (n: number) => facts({ ...fact, source: { ...source, urls: Array.from({ length: n }, () => 'u') } }),
    memoryLimits.sourceUrlsMax,
  ],
])('a memory has %s up to the bound that the agent keeps and none beyond', (_what, made, max) => {
  const { response } = agentApi.memoryList
  expect(response.safeParse(made(max)).success).toBe(true)
  expect(response.safeParse(made(max + 1)).success).toBe(false)
})

test('a text that an agent works by has an end', () => {
  const { response } = agentApi.workspaceRead
  const read = (count: number) => response.safeParse({ filename: 'SOUL.md', content: letters(count) }).success
  expect([read(workspaceTextMaxChars), read(workspaceTextMaxChars + 1)]).toEqual([true, false])
})
