import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { breakBetween, prefixOf } from './prompt-prefix.ts'

interface Told {
  readonly system: string
  readonly tools: readonly string[]
  readonly messages: readonly string[]
  readonly choice: string
}

const rules = 'You are the agent.'
const file = (name: string, text: string) => `[${name}]\n${text}`
const prompt = (parts: readonly string[]) => [rules, ...parts].join('\n\n')
const groups = (...lines: string[]) =>
  ['More tools of yours. find_tools describes them:', ...lines].join('\n')
const usual: Told = {
  system: prompt([
    file('SYSTEM.md', 'Budget: 5 USD'),
    file('MEMORY.md', 'The sea is wet.'),
    'Learnings: your own notes on earlier failures and corrections. One.',
    groups(
      '- tasks: your tasks',
      '- skill: tools that you wrote (add)',
      '- mcp:web: tools of the MCP server web (get)',
    ),
  ]),
  tools: ['look', 'read'],
  messages: ['hello', 'Hi.'],
  choice: 'auto',
}

function prefix({ system, tools, messages, choice }: Told, model = 'a/m') {
  const call = {
    messages: [
      { role: 'system', content: system },
      ...messages.map((content, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content })),
      { role: 'system', content: `reminder ${messages.length}` },
    ],
    tools: tools.map((name) => ({ type: 'function', function: { name } })),
    tool_choice: choice,
  }
  return prefixOf(model, call, { withOptions: true })
}

const replaced = (from: string, to: string): Told => ({ ...usual, system: usual.system.replace(from, to) })

describe('why a call does not repeat the previous prompt', () => {
  test.each<readonly [string, Told, string | null]>([
    ['new messages', { ...usual, messages: [...usual.messages, 'and?'] }, null],
    ['a permission that removes a tool', { ...usual, tools: ['read'] }, 'tools'],
    ['a setting in SYSTEM.md', replaced('5 USD', '6 USD'), 'system SYSTEM.md'],
    ['another role in the rules', replaced('the agent', 'the clerk'), 'system rules'],
    ['a fact in MEMORY.md', replaced('wet', 'salty'), 'system MEMORY.md'],
    ['a new lesson', replaced('One.', 'Two.'), 'system learnings'],
    ['a permission that removes a group', replaced('- tasks: your tasks\n', ''), 'system tool groups'],
    ['a skill that was written', replaced('(add)', '(add, sum)'), 'system skills'],
    ['a first skill', replaced('- skill: tools that you wrote (add)\n', ''), 'system skills'],
    ['a tool of an MCP server', replaced('(get)', '(get, put)'), 'system MCP servers'],
    [
      'a new file of the workspace',
      replaced('[MEMORY.md]', '[USER.md]\nAnn\n\n[MEMORY.md]'),
      'system USER.md',
    ],
    ['another choice of tools', { ...usual, choice: 'none' }, 'options'],
    ['a summary', { ...usual, messages: ['Summary', 'Hi.', 'and?'] }, 'conversation'],
    ['fewer messages', { ...usual, messages: ['hello'] }, 'conversation'],
  ])('%s', (_what, after, reason) => {
    expect(breakBetween(prefix(usual), prefix(after))).toBe(reason)
    // The change breaks the prefix of one call; the call after it repeats the changed prefix.
    expect(
      breakBetween(prefix(after), prefix({ ...after, messages: [...after.messages, 'more'] })),
    ).toBeNull()
  })

  test('a part that comes behind all others is named, and not the part before it', () => {
    const kind = '\n\nThis run is a turn of a conversation.'
    const before = { ...usual, system: prompt([groups('- tasks: your tasks')]) + kind }
    const after = {
      ...usual,
      system: prompt([groups('- tasks: your tasks', '- skill: tools that you wrote (add)')]) + kind,
    }
    expect(breakBetween(prefix(before), prefix(after))).toBe('system skills')
    expect(breakBetween(prefix(after), prefix(before))).toBe('system skills')
  })

  test('another model', () => {
    expect(breakBetween(prefix(usual), prefix(usual, 'b/m'))).toBe('model')
  })

  test('options of the answer break only what a provider caches with them', () => {
    const call = (effort: string) =>
      prefixOf('m', { messages: [], reasoning_effort: effort }, { withOptions: false })
    expect(breakBetween(call('low'), call('high'))).toBeNull()
  })

  test('an instruction without content is like an empty one', () => {
    const call = (message: { readonly role: string; readonly content?: null }) =>
      prefixOf('m', { messages: [message] }, { withOptions: true })
    expect(call({ role: 'system' })).toEqual(call({ role: 'system', content: null }))
  })

  test('no hash contains text of the prompt', () => {
    const secret = 'sk-planted-0123456789'
    const kept = JSON.stringify(prefix({ ...usual, system: secret, messages: [secret], tools: [secret] }))
    expect(kept).not.toContain('planted')
  })

  test('rounds that only add messages never break the beginning, whatever the texts are', () => {
    const told = fc.record({
      system: fc.string(),
      tools: fc.array(fc.string({ minLength: 1 }), { maxLength: 4 }),
      messages: fc.array(fc.string(), { minLength: 1, maxLength: 6 }),
      choice: fc.constant('auto'),
    })
    fc.assert(
      fc.property(told, fc.array(fc.string(), { maxLength: 4 }), (before, more) => {
        const after = { ...before, messages: [...before.messages, ...more] }
        expect(breakBetween(prefix(before), prefix(after))).toBeNull()
      }),
    )
  })
})
