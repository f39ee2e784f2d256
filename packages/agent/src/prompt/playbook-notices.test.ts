import { operatorPlaybooks, playbookOf, playbookTurns } from '@flotilla/protocol/operator-playbooks'
import { operatorTools } from '@flotilla/protocol/operator-tools'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { toolGroups } from '@flotilla/protocol/tool-groups'
import { expect, test } from 'vitest'
import type { PromptMessage } from '../llm/language-model.ts'
import { playbookNotices } from './playbook-notices.ts'

const said = (content: string): PromptMessage => ({ role: 'user', content: sanitizeForPrompt(content) })
const called = (...names: string[]): PromptMessage => ({
  role: 'assistant',
  content: sanitizeForPrompt(''),
  toolCalls: names.map((name, index) => ({ id: `call_${index}`, name, arguments: '{}' })),
})
const told = (...messages: PromptMessage[]) =>
  playbookNotices(messages).map((text) => /^Playbook, ([\w ]+):/.exec(text)?.[1])

test('nothing is said before a tool of the operator was used', () => {
  expect(told(said('hello'), called('hand_off', 'read_file'))).toEqual([])
})

test('the playbook of the tool that was called last comes first, two at most', () => {
  expect(told(said('build'), called('create_agent'))).toEqual(['building a team'])
  const messages = [said('build'), called('create_agent'), called('edit_agent', 'inspect_fleet')]
  expect(told(...messages)).toEqual(['watching the fleet', 'changing an agent'])
  expect(told(said('a key'), called('request_credential'))).toEqual(['credentials'])
})

test('a playbook notice stays for some turns after its last tool', () => {
  const later = (turns: number) => [
    said('build'),
    called('create_agent'),
    ...Array.from({ length: turns }, () => said('and?')),
  ]
  expect(told(...later(playbookTurns - 1))).toEqual(['building a team'])
  expect(told(...later(playbookTurns))).toEqual([])
})

test('every tool of the operator has one, and each names tools that there are', () => {
  const names = new Set<string>(toolGroups.flatMap(({ tools }) => Object.values<string>(tools)))
  for (const { name, playbook } of operatorTools) expect(playbookOf(name)).toBe(playbook)
  expect(new Set(operatorTools.map(({ playbook }) => playbook))).toEqual(
    new Set(Object.keys(operatorPlaybooks).filter((name) => name !== 'credentials')),
  )
  for (const text of Object.values(operatorPlaybooks)) {
    const named = [...text.matchAll(/\b[a-z]+(?:_[a-z]+)+\b/g)].map(([word]) => word)
    expect(named.filter((word) => !names.has(word))).toEqual([])
    expect(text.length).toBeLessThan(1000)
  }
})
