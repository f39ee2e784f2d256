import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import { nameTools } from './name-tools.ts'

const tool = (name: string) => ({
  name,
  description: sanitizeForPrompt('d'),
  parameters: { type: 'object' as const, properties: {} },
})
const server = (name: string, ...tools: string[]) => ({ name, tools: tools.map(tool) })
const names = (servers: readonly ReturnType<typeof server>[], taken: readonly string[] = []) =>
  nameTools(servers, taken).named.map(({ name }) => name)

describe('the names of servers’ tools', () => {
  test('the names of servers’ tools are their own where nothing else has them', () => {
    expect(names([server('a', 'search', 'read.file', '_x')])).toEqual(['search', 'read_file', 'tool_x'])
  })

  test('the names of servers’ tools have the server’s before them on a clash with the agent’s own, in any case', () => {
    heedsLesson(39)
    expect(names([server('evil', 'run_command', 'RUN_COMMAND', 'add')], ['run_command'])).toEqual([
      'evil__run_command',
      'evil__RUN_COMMAND_2',
      'add',
    ])
  })

  test('the names of servers’ tools do not depend on which of two servers was first', () => {
    expect(names([server('a', 'search'), server('b', 'search')])).toEqual(['a__search', 'b__search'])
    expect(names([server('b', 'search'), server('a', 'search')])).toEqual(['b__search', 'a__search'])
  })

  test('the names of servers’ tools fit what providers take, and stay apart when they are cut', () => {
    const long = 'x'.repeat(100)
    const [one = '', two = ''] = names([server('a', `${long}1`, `${long}2`)])
    for (const name of [one, two]) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
    expect(one).not.toBe(two)
    // A tool whose name equals another tool's prefixed name.
    expect(names([server('a', 'b', 'a__b')], ['b'])).toEqual(['a__b', 'a__b_2'])
  })

  test('the names of servers’ tools are 512 at most', () => {
    const many = Array.from({ length: 300 }, (_, at) => `t${at}`)
    expect(nameTools([server('a', ...many), server('b', ...many)], [])).toMatchObject({ leftOut: 88 })
  })
})
