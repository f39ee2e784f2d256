import type { RunView } from '@flotilla/protocol/run'
import { expect, test } from 'vitest'
import { conversationNames } from './conversation-names.ts'

const at = Date.parse('2026-11-28T12:00:00Z')
const aRun = (session: string, message: string) =>
  ({ input: { kind: 'chat', session, message } }) as unknown as RunView
const aSession = (session: string) => ({ session, messages: 2, updated_at: at, task_id: null })

test('a conversation is named by its first words and day, wherever it began', () => {
  const sessions = [aSession('terminal'), aSession('telegram:7')]
  const runs = [
    aRun('terminal', 'And the second question'),
    aRun('terminal', 'Compare the licences\nof all dependencies'),
    aRun('telegram:7', 'word '.repeat(30)),
  ]
  expect(conversationNames({ sessions }, { runs, open: ['dashboard'] })).toEqual([
    { session: 'dashboard', label: 'dashboard' },
    { session: 'terminal', label: 'Compare the licences of all dependencies · 28 Nov 2026 · terminal' },
    {
      session: 'telegram:7',
      label: 'word word word word word word word word word … · 28 Nov 2026 · telegram:7',
    },
  ])
})

test('a conversation without a listed run has its session name, and is listed once', () => {
  const named = conversationNames({ sessions: [aSession('dashboard')] }, { runs: [], open: ['dashboard'] })
  expect(named).toEqual([{ session: 'dashboard', label: '28 Nov 2026 · dashboard' }])
})
