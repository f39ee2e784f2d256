import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { skillEscapes } from '../../../../tests/support/skill-escapes.ts'
import { heedsLesson, verifies } from '../../../../tests/verifies.ts'
import { checkSkill } from './check-skill.ts'
import { forbiddenAttributes, forbiddenCalls, forbiddenImports } from './forbidden-names.ts'

const targets = { secretFile: '/secret', newFile: '/new', port: 1 }
const wrap = (body: string, before = '') => `import { skill } from '@flotilla/skill'
${before}
export default skill('count_words', 'Counts words', { text: { type: 'string' } }, async ({ text }, { mesh_client }) => {
  ${body}
})
`
const rulesOf = (source: string) => {
  const verdict = checkSkill(source)
  return verdict.ok ? [] : verdict.faults.map(({ rule }) => rule)
}

describe('a source becomes a skill', () => {
  test('in TypeScript, with its definition read and its types taken out', () => {
    verifies('resources:skill:declaration', 'resources:tool:create-skill-validated')
    const verdict = checkSkill(`import { skill } from '@flotilla/skill'
interface Row { word: string; count: number }
export default skill('top_words', 'Most frequent words', {
  text: { type: 'string', description: 'Any text' },
  limit: { type: 'integer', minimum: 1 },
}, async ({ text, limit }: { text: string; limit: number }, { mesh_client }) => {
  const counts = new Map<string, number>()
  for (const word of text.toLowerCase().split(/\\W+/)) counts.set(word, (counts.get(word) ?? 0) + 1)
  const rows: Row[] = [...counts].map(([word, count]) => ({ word, count }))
  rows.sort((a, b) => b.count - a.count)
  let first = 0
  const best = rows[+first]
  await mesh_client.notify_user({ message: \`\${best?.word}\` })
  return { rows: rows.slice(0, limit), env: 'key of a literal', first: rows[0], last: rows[rows.length - 1] }
})`)
    expect(verdict).toMatchObject({
      ok: true,
      definition: {
        name: 'top_words',
        description: 'Most frequent words',
        parameters: { limit: { type: 'integer', minimum: 1 } },
      },
    })
    expect(verdict.ok && verdict.code).not.toContain('interface')
  })

  test.each([
    [
      'classes with constructors and private names',
      'class A { #x = 1; constructor() { this.y = this.#x } } return { y: new A().y }',
    ],
    ['iteration protocols', 'const o = { *[Symbol.iterator]() { yield 1 } }; return { all: [...o] }'],
    ['labels and loops', 'outer: for (let i = 0; i < 3; i++) { if (i === 1) continue outer } return {}'],
    ['text keys that are written out', "const o = { 'a b': 1 }; return { v: o['a b'] }"],
  ])('%s are its own affair', (_name, body) => {
    expect(checkSkill(wrap(body))).toMatchObject({ ok: true })
  })
})

describe('the lists', () => {
  test('the lists have exactly as many entries as the specification says, each with its reason', () => {
    verifies(
      'limits:skill-validator:imports',
      'limits:skill-validator:calls',
      'limits:skill-validator:attributes',
    )
    expect(Object.keys(forbiddenImports)).toHaveLength(23)
    expect(Object.keys(forbiddenCalls)).toHaveLength(16)
    expect(Object.keys(forbiddenAttributes)).toHaveLength(11)
    const reasons = [forbiddenImports, forbiddenCalls, forbiddenAttributes].flatMap((list) =>
      Object.values(list),
    )
    for (const reason of reasons) expect(reason.length).toBeGreaterThan(10)
  })

  test.each(Object.keys(forbiddenImports))('refuse to import %s in every spelling', (module) => {
    verifies('errors:skill:forbidden-import')
    for (const specifier of [module, `node:${module}`, `${module}/promises`, `./${module}/x.js`]) {
      expect(rulesOf(wrap('return {}', `import { x } from '${specifier}'`)), specifier).toContain(
        'forbidden-import',
      )
      expect(rulesOf(wrap('return {}', `export { x } from '${specifier}'`)), specifier).toContain(
        'forbidden-import',
      )
    }
  })

  test.each(Object.keys(forbiddenCalls).filter((name) => name !== 'import'))(
    'refuse %s bare, as a member, passed on, and taken apart',
    (name) => {
      verifies('errors:skill:forbidden-call')
      for (const body of [
        `${name}('x')`,
        `text.${name}('x')`,
        `const f = [text.${name}]`,
        `const { ${name}: f } = text`,
      ]) {
        expect(rulesOf(wrap(`${body}; return {}`)), body).toContain('forbidden-call')
      }
    },
  )

  test.each(Object.keys(forbiddenAttributes))('refuse the attribute %s in every spelling', (name) => {
    verifies('errors:skill:forbidden-attribute')
    const escaped = `\\u{${name.codePointAt(0)?.toString(16)}}${name.slice(1)}`
    for (const body of [
      `text.${name}`,
      `text?.${name}`,
      `text['${name}']`,
      `text[\`${name}\`]`,
      `text.${escaped}`,
      `text['${escaped}']`,
      `(({ ${name}: y }) => y)(text)`,
      `(({ ['${name}']: y }) => y)(text)`,
    ]) {
      expect(rulesOf(wrap(`void (${body}); return {}`)), body).toContain('forbidden-attribute')
    }
  })
})

describe('what is refused', () => {
  test.each(skillEscapes.filter(({ passesCheck }) => !passesCheck))('an escape that $name', ({ source }) => {
    heedsLesson(36)
    expect(checkSkill(source(targets)).ok).toBe(false)
  })

  test('what the check cannot see is few, and left to the process', () => {
    const unseen = skillEscapes.filter(({ source }) => checkSkill(source(targets)).ok)
    expect(unseen.map(({ name }) => name)).toEqual(
      skillEscapes.filter(({ passesCheck }) => passesCheck).map(({ name }) => name),
    )
    expect(unseen.length).toBeLessThanOrEqual(4)
  })

  test('there are at least sixty escapes', () => {
    expect(skillEscapes.length).toBeGreaterThanOrEqual(60)
    expect(new Set(skillEscapes.map(({ name }) => name)).size).toBe(skillEscapes.length)
  })

  test.each([
    `(() => {})['con' + 'structor']('return 1')()`,
    `text['__pro' + 'to__']`,
    `(({ ['con' + 'structor']: f }) => f)(() => {})`,
    `new (class { ['con' + 'structor']() {} })()`,
    `text[1 + 2]`,
  ])('%s, since a sum may be a text, and one text leads to all code', (access) => {
    expect(rulesOf(wrap(`void ${access}; return {}`))).toEqual(['computed-access'])
  })

  test.each(['-', '*', '/', '%', '**', '|', '&', '^', '<<', '>>', '>>>'])(
    'no key made with %s, which gives a number whatever it is given',
    (operator) => {
      expect(rulesOf(wrap(`void text[text ${operator} 1]; return {}`))).toEqual([])
    },
  )

  test('a source of more than 10,000 characters', () => {
    verifies('errors:skill:too-long', 'limits:skill-source-chars')
    const filler = (length: number) => `// ${'x'.repeat(length)}`
    const short = wrap('return {}')
    const longest = short + filler(10_000 - short.length - 3)
    expect(longest).toHaveLength(10_000)
    expect(checkSkill(longest).ok).toBe(true)
    expect(rulesOf(`${longest}x`)).toEqual(['too-long'])
  })

  test.each([
    ['a function that is not async', wrap('return {}').replace('async ', '')],
    [
      'a generator',
      wrap('return {}').replace('async ({ text }, { mesh_client }) =>', 'async function* (a, b)'),
    ],
    ['no call of skill', `export default {}`],
    ['two calls of skill', `${wrap('return {}')}\nskill('b', 'c', {}, async () => ({}))`],
    ['a skill that is not exported', wrap('return {}').replace('export default ', '')],
    ['a name that is computed', wrap('return {}').replace("'count_words'", "'count' + '_words'")],
    ['a name with capitals', wrap('return {}').replace('count_words', 'Count')],
    ['parameters that are computed', wrap('return {}').replace("{ type: 'string' }", 'make()')],
    ['parameters without a type', wrap('return {}').replace("type: 'string'", "kind: 'string'")],
  ])('%s', (_name, source) => {
    verifies('resources:skill:async')
    expect(rulesOf(source)).toContain('declaration')
  })

  test('the decorator of other languages is rejected, and the message names the call of skill', () => {
    verifies('resources:skill:declaration')
    const decorated = `import { skill } from '@flotilla/skill'
class Skills { @skill('count_words', 'Counts words', {}) async run() { return {} } }
export default Skills`
    expect(rulesOf(decorated)).not.toEqual([])
    expect(checkSkill(wrap('return {}'))).toMatchObject({ ok: true, definition: { name: 'count_words' } })
  })

  test('text that is no program, with the line', () => {
    expect(checkSkill('const a = 1\nconst = 2')).toMatchObject({ ok: false, faults: [{ rule: 'syntax' }] })
    // Deeper nesting is tested where each check has a thread of its own, since it exhausts the thread.
    expect(rulesOf('('.repeat(50))).toEqual(['syntax'])
  })

  test('text that is not a module is rejected with the position of the fault', () => {
    expect(checkSkill('const a = 1\n  export { lost }')).toEqual({
      ok: false,
      faults: [{ line: 2, column: 12, rule: 'syntax', message: expect.stringContaining("Export 'lost'") }],
    })
  })

  test('text that cannot be parsed is rejected from its start, with the position that the type stripper reports', () => {
    const verdict = checkSkill('const a = 1\nconst = 2')
    expect(verdict).toMatchObject({ ok: false, faults: [{ line: 1, column: 1, rule: 'syntax' }] })
  })

  test('whatever it is given, it answers', () => {
    const any = fc.string({ maxLength: 200 })
    fc.assert(
      fc.property(any, (text) => {
        expect(checkSkill(text).ok).toBe(false)
      }),
    )
  })

  test('each fault has its position and a replacement', () => {
    const verdict = checkSkill(wrap('const k = text\n  return { v: [1][k] }'))
    expect(verdict).toEqual({
      ok: false,
      faults: [
        { line: 5, column: 19, rule: 'computed-access', message: expect.stringContaining('[+index]') },
      ],
    })
  })
})
