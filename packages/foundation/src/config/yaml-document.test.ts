import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { readYamlDocument } from './yaml-document.ts'

const schema = z.strictObject({ rules: z.array(z.unknown()).nullish() })

describe('a YAML file of the owner', () => {
  test.each(['', '\n', '# a comment\n', '---\n', '---\n# a\n', 'null\n', '~\n'])(
    '%j has no content and is read as an empty one',
    (text) => {
      expect(readYamlDocument(text, schema)).toMatchObject({ ok: true, document: { value: {} } })
    },
  )
})
