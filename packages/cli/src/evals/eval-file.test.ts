import { describe, expect, test } from 'vitest'
import { readEvalFile } from './eval-file.ts'

const whole = `
name: cases
agent: auditor
judge: { model: scripted/x }
cases:
  - name: one
    ask: How many?
    files: { input/a.txt: "a" }
    tools: [run_command, { tool: write_blackboard, arguments: { key: k } }]
    checks: [{ contains: "2" }, { judge: it is short }]
  - { name: two, ask: Again?, agent: other }
`

describe('a file of cases', () => {
  test('a case takes its agent from the case, the file or the command line, and has defaults for the rest', () => {
    const file = readEvalFile(whole, undefined)
    expect(file).toMatchObject({ bar: 1, concurrency: 2 })
    expect(file.cases.map(({ agent }) => agent)).toEqual(['auditor', 'other'])
    expect(file.cases[0]?.tools).toEqual([
      { tool: 'run_command', arguments: {} },
      { tool: 'write_blackboard', arguments: { key: 'k' } },
    ])
    expect(readEvalFile(whole, 'third').cases.map(({ agent }) => agent)).toEqual(['third', 'third'])
  })

  test.each([
    ['a field that nobody knows', `${whole}shell: true\n`],
    ['two cases of one name', whole.replace('name: two', 'name: one')],
    ['no agent', whole.replace('agent: auditor\n', '')],
    ['a judge that nobody names', whole.replace('judge: { model: scripted/x }\n', '')],
    ['a pattern that is none', whole.replace('contains: "2"', 'matches: "("')],
    ['a check of two kinds', whole.replace('contains: "2"', 'contains: "2", lacks: "3"')],
    ['no cases', 'name: x\ncases: []\n'],
    ['a bar above one', `${whole}bar: 2\n`],
    ['too many at a time', `${whole}concurrency: 1000\n`],
    ['no YAML', 'name: [x'],
    ['nested without end', '['.repeat(100_000)],
    ['an alias of itself', 'name: &a [*a]'],
    ['a long text', 'x'.repeat(1024 * 1024 + 1)],
  ])('with %s is refused with the reason', (_name, text) => {
    expect(() => readEvalFile(text, undefined)).toThrow(/^The file of cases cannot be used: ./)
  })
})
