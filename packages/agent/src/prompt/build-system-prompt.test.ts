import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { expect, test } from 'vitest'
import { promptParts } from '@flotilla/protocol/prompt-parts'
import { withPromptNotes } from '../tools/withheld-tools.ts'
import { buildSystemPrompt } from './build-system-prompt.ts'

const parts = {
  agentId: 'w1',
  role: sanitizeForPrompt('counts things'),
  kind: 'worker',
  mode: 'chat',
  bootstrap: sanitizeForPrompt('[SOUL.md]\nbe kind'),
  observations: sanitizeForPrompt('[OBSERVATIONS.md]\n- the sea is high'),
  learnings: sanitizeForPrompt('## Learnings\n- the sea is wet'),
  now: Date.UTC(2030, 0, 2),
} as const

test('the day comes last, so that all before it stays the same', () => {
  const today = buildSystemPrompt({ ...parts, mode: 'task' })
  const tomorrow = buildSystemPrompt({ ...parts, mode: 'task', now: parts.now + 24 * 3600 * 1000 })
  expect(today.endsWith('2030-01-02 (UTC).')).toBe(true)
  expect(today.slice(0, -20)).toBe(tomorrow.slice(0, -20))
})

test.each(['chat', 'heartbeat'] as const)('a new day does not change the prompt of a %s', (mode) => {
  const tomorrow = { ...parts, mode, now: parts.now + 24 * 3600 * 1000 }
  expect(buildSystemPrompt(tomorrow)).toBe(buildSystemPrompt({ ...parts, mode }))
})

test('a task has to be closed and a conversation does not', () => {
  expect(buildSystemPrompt({ ...parts, mode: 'task' })).toContain('complete_task')
  expect(buildSystemPrompt(parts)).not.toContain('complete_task')
})

test('what was learnt comes after the files and before the day', () => {
  const prompt = buildSystemPrompt({ ...parts, mode: 'task' })
  expect(prompt.indexOf('be kind')).toBeLessThan(prompt.indexOf('the sea is wet'))
  expect(prompt.indexOf('the sea is wet')).toBeLessThan(prompt.indexOf('Today is'))
})

test('the notes of tools are part of what runs of every kind share', () => {
  const tools = [{ promptNote: sanitizeForPrompt('More tools.') }] as unknown as Parameters<
    typeof withPromptNotes
  >[1]
  const prompts = (['chat', 'task', 'heartbeat'] as const).map((mode) =>
    withPromptNotes(buildSystemPrompt({ ...parts, mode }), tools),
  )
  const shared = new Set(prompts.map((prompt) => prompt.slice(0, prompt.lastIndexOf(promptParts.kind))))
  expect([...shared]).toEqual([expect.stringMatching(/be kind\n\nMore tools\.\n\n$/)])
  expect(withPromptNotes(sanitizeForPrompt('be good'), tools)).toBe('be good\n\nMore tools.')
})

test('an operator with a SYSTEM.md is not told twice how to work', () => {
  const operator = { ...parts, kind: 'operator' } as const
  expect(buildSystemPrompt(operator)).toContain('hand_off')
  const told = { ...operator, bootstrap: sanitizeForPrompt('[SYSTEM.md]\n# Who you are') }
  expect(buildSystemPrompt(told)).not.toContain('hand_off')
})

test('runs of every kind share the prompt up to the end of the bootstrap files', () => {
  const prompts = (['chat', 'task', 'heartbeat'] as const).map((mode) =>
    buildSystemPrompt({ ...parts, mode }),
  )
  const [shared = ''] = prompts.map((prompt) => prompt.slice(0, prompt.indexOf('be kind') + 'be kind'.length))
  for (const prompt of prompts) expect(prompt.startsWith(shared)).toBe(true)
  expect(shared).toMatch(/be kind$/)
})
