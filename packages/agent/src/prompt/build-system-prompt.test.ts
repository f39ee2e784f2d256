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
} as const

test('a task has to be closed and a conversation does not', () => {
  expect(buildSystemPrompt({ ...parts, mode: 'task' })).toContain('complete_task')
  expect(buildSystemPrompt(parts)).not.toContain('complete_task')
})

test('what was learnt comes last, because it changes most often', () => {
  const prompt = buildSystemPrompt({ ...parts, mode: 'task' })
  expect(prompt.indexOf('be kind')).toBeLessThan(prompt.indexOf('the sea is wet'))
  expect(prompt.endsWith('- the sea is wet')).toBe(true)
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
