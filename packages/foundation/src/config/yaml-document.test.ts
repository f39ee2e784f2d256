import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { addToYamlList, readYamlDocument } from './yaml-document.ts'

const schema = z.strictObject({ rules: z.array(z.unknown()).nullish() })

describe('a YAML file of the owner', () => {
  test.each(['', '\n', '# a comment\n', '---\n', '---\n# a\n', 'null\n', '~\n'])(
    '%j has no content and is read as an empty one',
    (text) => {
      expect(readYamlDocument(text, schema)).toMatchObject({ ok: true, document: { value: {} } })
    },
  )

  test.each([
    '# one\n\n# two\n',
    '---\n# one\n# two\n',
    'null # one\n# two\n',
    '# one\nrules:\n  # - two\n',
    '# one\nrules: # two\n',
    '# one\nrules: [] # two\n',
    'rules:\n  # one\n  - b: 2 # two\n',
    'other: 1 # one\n# two\n',
  ])('%j keeps its comments when an entry is added to a list', (text) => {
    const changed = addToYamlList(text, 'rules', { a: 1 })
    expect(changed).toMatch(/#.*one/)
    expect(changed).toMatch(/#.*two/)
    const reading = readYamlDocument(changed, z.object({ rules: z.array(z.unknown()) }))
    expect(reading).toMatchObject({ ok: true })
    expect(reading.ok && reading.document.value.rules.at(-1)).toEqual({ a: 1 })
  })
})
