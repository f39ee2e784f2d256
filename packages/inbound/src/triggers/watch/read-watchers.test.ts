import { describe, expect, test } from 'vitest'
import { verifies } from '../../../../../tests/verifies.ts'
import { readWatchers } from './read-watchers.ts'
import { watchesMax } from './watch-rule.ts'

const entry = (more = '') => `  - path: /in
    pattern: "*.csv"
    agent: scout
    message: "Look at {filename}"
${more}`

function rules(text: string) {
  const reading = readWatchers(text)
  if (!reading.ok) throw new Error(`line ${reading.line}: ${reading.reason}`)
  return reading.rules
}

describe('config/watchers.yaml', () => {
  test('the file is a list below watchers, each entry with folder, pattern, agent and message', () => {
    verifies(
      'resources:file-watcher:top-level-key',
      'resources:file-watcher:path',
      'resources:file-watcher:pattern',
      'resources:file-watcher:agent',
      'resources:file-watcher:message',
    )
    expect(rules(`watchers:\n${entry()}`)).toMatchObject([
      { path: '/in', pattern: '*.csv', agent: 'scout', message: 'Look at {filename}', when: null, line: 2 },
    ])
  })

  test.each(['', '# nothing yet\n', 'watchers:\n', 'watchers: []\n'])('%j has no watchers', (text) => {
    expect(rules(text)).toEqual([])
  })

  test('a condition is parsed once and kept as written', () => {
    expect(rules(`watchers:\n${entry('    when: size_bytes > 10\n')}`)).toMatchObject([
      { whenText: 'size_bytes > 10', when: { kind: 'compare' } },
    ])
  })

  test.each([
    ['watchers:\n  - path: [\n', 3, /flow|expected|sequence/i],
    [`watchers:\n${entry()}${entry().replace('scout', '"no such id!"')}`, 8, /agent id/],
    [`watchers:\n${entry('    color: red\n')}`, 6, /color/],
    [`watchers:\n${entry('    when: "size_bytes >"\n')}`, 6, /expected/],
    [`watchers:\n${entry().replace('/in', 'in')}`, 2, /absolute path/],
    [`watchers:\n${entry().replace('*.csv', 'a/*.csv')}`, 3, /no slash/],
    [`watchers:\n${entry().replace('"Look at {filename}"', '" "')}`, 5, /must not be empty/],
    [`watchers:\n${entry()}    path: /again\n`, 6, /unique/i],
    ['watcher: []\n', 1, /watcher/],
    ['- path: /in\n', 1, /file/],
    [`watchers: !!js/function []\n`, 1, /tag/i],
    [`watchers:\n${entry().repeat(watchesMax + 1)}`, 1, /at most 100/],
  ])('an invalid file is rejected with its line: case %#', (text, line, reason) => {
    const reading = readWatchers(text)
    expect(reading).toMatchObject({ ok: false, reason: expect.stringMatching(reason) })
    expect(reading).toMatchObject({ line })
  })

  test('excessive alias expansion is rejected', () => {
    const levels = Array.from(
      { length: 9 },
      (_v, n) =>
        `${String.fromCharCode(98 + n)}: &${String.fromCharCode(98 + n)} [${Array(9)
          .fill(`*${String.fromCharCode(97 + n)}`)
          .join(', ')}]`,
    )
    expect(readWatchers(`a: &a [x]\n${levels.join('\n')}\nwatchers: *j\n`).ok).toBe(false)
  })

  test('a watch keeps its id while folder and pattern are the same, whatever else changes', () => {
    const [one] = rules(`watchers:\n${entry()}`)
    const [other] = rules(`watchers:\n${entry().replace('scout', 'writer').replace('Look', 'Gaze')}`)
    const [third] = rules(`watchers:\n${entry().replace('*.csv', '*.txt')}`)
    expect(other?.id).toBe(one?.id)
    expect(third?.id).not.toBe(one?.id)
    expect(rules(`watchers:\n${entry().replace('/in', '/in//')}`)[0]?.id).toBe(one?.id)
  })

  test('two watches with the same folder and pattern have two ids', () => {
    const [one, two] = rules(`watchers:\n${entry()}${entry().replace('scout', 'writer')}`)
    expect(one?.id).not.toBe(two?.id)
  })
})
