import type { FactView } from '@flotilla/protocol/kept-api'
import { expect, test } from 'vitest'
import { shownFact, shownFolder, shownName, shownTool } from './sanitize-shown.ts'

test.each([
  ['notes.md', 'notes.md'],
  ['a\u202egnp.exe', 'agnp.exe'],
  ['\u001b[2Jx', '[2Jx'],
  ['two\nlines', 'two lines'],
  ['\u200b\u2066', '(no visible name)'],
])('the name %j is shown as %s', (name, shown) => {
  expect(shownName(name)).toBe(shown)
})

test('a file is addressed by the name that it has, however it is shown', () => {
  const name = 'report\u202efdp.sh'
  const folder = { path: '', entries: [{ name, kind: 'file' as const, size_bytes: 1 }], more: false }
  expect(shownFolder(folder).entries).toEqual([{ name, shown: 'reportfdp.sh', kind: 'file', size_bytes: 1 }])
})

test('bidirectional control characters in a fact or tool do not affect the text around them', () => {
  const bad = 'x\u202e\u001by'
  const fact: FactView = {
    id: 'fact_1',
    key: bad,
    text: bad,
    category: bad,
    trust: 'self',
    source: { run_id: bad, tool: bad, origin: bad, channel: bad, urls: [bad] },
    created_at: 1,
    last_used_at: 1,
    use_count: 0,
  }
  const clean = { run_id: 'xy', tool: 'xy', origin: 'xy', channel: 'xy', urls: ['xy'] }
  expect(shownFact(fact)).toEqual({ ...fact, key: 'xy', text: 'xy', category: 'xy', source: clean })
  const tool = { name: bad, description: bad, source: bad, parameters: {} }
  expect(shownTool(tool)).toEqual({ name: 'xy', description: 'xy', source: 'xy' })
})
