import type { RunView } from '@flotilla/protocol/run'
import { expect, test } from 'vitest'
import { conversationNames, matchingConversations } from './conversation-names.ts'

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
  const named = conversationNames({ sessions }, { runs, open: ['dashboard'] })
  expect(named.map(({ session, label }) => [session, label])).toEqual([
    ['dashboard', 'dashboard'],
    ['terminal', 'Compare the licences of all dependencies · 28 Nov 2026 · terminal'],
    ['telegram:7', 'word word word word word word word word word … · 28 Nov 2026 · Telegram'],
  ])
  expect(named.map((one) => one.at)).toEqual([null, at, at])
})

test('a conversation has the name that a person gave it, and is found by it', () => {
  const runs = [aRun('terminal', 'Compare them\n\nAttached files:\n- /data/uploads/0a-b.txt')]
  const of = (names: Record<string, string>) =>
    conversationNames(
      { sessions: [aSession('terminal')] },
      { runs, open: ['dashboard'], given: (session) => names[session] },
    )
  expect(of({}).map(({ title }) => title)).toEqual(['', 'Compare them'])
  const named = of({ terminal: 'Licences' })
  expect(matchingConversations(named, ' LICEN ').map(({ session }) => session)).toEqual(['terminal'])
  expect(matchingConversations(named, '')).toBe(named)
})

test('a conversation of a task has its title, and that of a webhook the first event', () => {
  const event = '[Webhook "builds" (hook_0): an event received at 2026-11-28]\n\n```json\n{"build":1}\n```\n'
  const named = conversationNames(
    { sessions: [{ ...aSession('task:task_1'), task_id: 'task_1' }, aSession('webhook:hook_0')] },
    { runs: [aRun('webhook:hook_0', event)], open: [], titles: new Map([['task_1', 'Count the licences']]) },
  )
  expect(named.map(({ title }) => title)).toEqual(['Task: Count the licences', 'Webhook builds: {"build":1}'])
})

test('a conversation without a listed run has its session name, and is listed once', () => {
  const named = conversationNames({ sessions: [aSession('dashboard')] }, { runs: [], open: ['dashboard'] })
  expect(named).toEqual([
    { session: 'dashboard', title: '', at, place: 'dashboard', label: '28 Nov 2026 · dashboard' },
  ])
})

test('a conversation says in words where it began', () => {
  const sessions = ['default', 'dashboard-3', 'webhook:hook_0', 'agent:clerk', 'slack:C1', 'planning'].map(
    aSession,
  )
  const named = conversationNames({ sessions }, { runs: [], open: [] })
  expect(named.map(({ place }) => place)).toEqual([
    'terminal',
    'dashboard',
    'webhook',
    'other agent',
    'Slack',
    'planning',
  ])
})
