import { describe, expect, test } from 'vitest'
import { checkSkill } from './check-skill.ts'

function faultsOf(before: string): readonly { readonly rule: string; readonly message: string }[] {
  const verdict = checkSkill(`import { skill } from '@flotilla/skill'
${before}
export default skill('count_words', 'Counts words', {}, async () => ({}))
`)
  return verdict.ok ? [] : verdict.faults.map(({ rule, message }) => ({ rule, message }))
}

describe('a module', () => {
  test.each(['@flotilla/skill', 'node:path', 'node:querystring', 'node:url'])(
    '%s is there, by the names that are used of it',
    (module) => {
      for (const statement of [
        `import { own } from '${module}'`,
        `import own from '${module}'`,
        `import '${module}'`,
        `export { own } from '${module}'`,
        `export * from '${module}'`,
      ]) {
        expect(faultsOf(statement), statement).toEqual([])
      }
    },
  )

  test('a module is not taken as a whole, so that each name that is used of it can be seen', () => {
    expect(faultsOf(`import * as path from 'node:path'`)).toEqual([
      {
        rule: 'forbidden-import',
        message: 'import only the names that you use, as in import { like, these }, not a whole module',
      },
    ])
  })

  test.each(['import', 'export * from', 'export { own } from'])(
    'an unknown module is rejected with the list of known modules, after %s',
    (words) => {
      const there = '@flotilla/skill, node:path, node:querystring, node:url'
      for (const name of ['left-pad', 'path', './own.js', 'toString', 'osmosis']) {
        expect(faultsOf(`${words} '${name}'`)).toEqual([
          { rule: 'forbidden-import', message: `a skill cannot import ${name}; it can import ${there}` },
        ])
      }
    },
  )

  test.each(['fs', 'node:fs', 'fs/promises', 'node:fs/promises', '../fs/own.js'])(
    'a forbidden module is rejected with the access that it would open: %s',
    (name) => {
      expect(faultsOf(`import { own } from '${name}'`)).toEqual([
        {
          rule: 'forbidden-import',
          message: `the import of ${name} is not allowed: the module reads and writes files past the path checks`,
        },
      ])
    },
  )
})
