import { describe, expect, test } from 'vitest'
import { completeLine } from './complete-line.ts'
import { createPasteReader, upToTabs, withLineBreaks } from './pasted-input.ts'
import { slashCommands } from './slash-commands.ts'

describe('pasted text', () => {
  test('pasted text is one line that keeps its breaks, wherever the pieces of the input end', () => {
    const typed = 'a\u001B[200~one\r\ntwo\nthree\u001B[201~b\r'
    for (let cut = 0; cut <= typed.length; cut++) {
      // A single escape character may be the Escape key, so the input does not wait for more.
      if (cut === 2) continue
      const read = createPasteReader()
      const line = read(typed.slice(0, cut)) + read(typed.slice(cut))
      expect(line.indexOf('\r')).toBe(line.length - 1)
      expect(withLineBreaks(line.trimEnd()).replaceAll('\n\n', '\n')).toBe('aone\ntwo\nthreeb')
    }
  })

  test('pasted text leaves what is typed as it is', () => {
    expect(createPasteReader()('x\r\u001B[A\u001B')).toBe('x\r\u001B[A\u001B')
  })
})

test('a tab ends a piece of what is typed, and nothing is lost', () => {
  expect(upToTabs('/blackb\tg\t')).toEqual(['/blackb\t', 'g\t'])
  expect(upToTabs('\t\tab\r')).toEqual(['\t', '\t', 'ab\r'])
  expect(upToTabs('')).toEqual([])
})

describe('a line is completed', () => {
  const names = { agents: ['writer', 'auditor'], projects: ['atlas'] }
  test.each([
    ['/blackb', ['/blackboard ']],
    ['/blackboard g', ['get ']],
    ['/use wr', ['writer ']],
    ['/project use a', ['atlas ']],
    ['@au', ['@auditor ']],
    ['hello', []],
    ['/nothing x', []],
  ])('%s', (line, choices) => {
    expect(completeLine(line, slashCommands, names)[0]).toEqual(choices)
  })
})
