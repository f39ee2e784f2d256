import { describe, expect, test } from 'vitest'
import { checkSkill } from './check-skill.ts'

const wrap = (body: string, before = '') => `import { skill } from '@flotilla/skill'
${before}
export default skill('count_words', 'Counts words', { text: { type: 'string' } }, async ({ text }, { mesh_client }) => {
  ${body}
  return {}
})
`

/** The faults of a skill, each as its rule and the words; empty if the source is accepted. */
function faultsOf(body: string, before = ''): readonly string[] {
  const verdict = checkSkill(wrap(body, before))
  return verdict.ok ? [] : verdict.faults.map(({ rule, message }) => `${rule}: ${message}`)
}

const rulesOf = (body: string) => faultsOf(body).map((fault) => fault.slice(0, fault.indexOf(':')))

/** A description, the lines of a skill, and the lines before them. */
type Place = readonly [what: string, body: string, before?: string]

function places(rows: readonly Place[]): [what: string, body: string, before: string][] {
  return rows.map(([what, body, before = '']) => [what, body, before])
}

/** Every syntax that declares a name; `own` is the name. */
const declarations = places([
  ['a constant', 'const own = 1; void own'],
  ['a name of an object taken apart', 'const { own } = {}; void own'],
  ['a new name of an object taken apart', 'const { a: own } = {}; void own'],
  ['a default in an object taken apart', 'const { a: own = 1 } = {}; void own'],
  ['a name deep in what is taken apart', 'const { a: [{ b: own }] } = { a: [{}] }; void own'],
  ['the rest of an object', 'const { a, ...own } = {}; void own'],
  ['a name of a list taken apart', 'const [, own] = []; void own'],
  ['a default in a list taken apart', 'const [own = 1] = []; void own'],
  ['the rest of a list', 'const [...own] = []; void own'],
  ['a function', 'function own() {} void own'],
  ['the name that a function has inside itself', 'const f = function own() { return own }; void f'],
  ['a parameter of a function', 'function f(own) { return own } void f'],
  ['a parameter of a function without a name', 'void function (own) { return own }'],
  ['a parameter of an arrow', 'void ((own) => own)'],
  ['a parameter with a default', 'void ((own = 1) => own)'],
  ['the rest of the parameters', 'void ((...own) => own)'],
  ['a class', 'class own {} void own'],
  ['the name that a class has inside itself', 'void class own { f() { return own } }'],
  ['what was caught', 'try { void 1 } catch (own) { void own }'],
  ['the variable of a loop', 'for (const own of []) void own'],
  ['an imported name', 'void own', `import { own } from 'node:path'`],
  ['an imported default', 'void own', `import own from 'node:path'`],
])

describe('a name that a skill declares', () => {
  test.each(declarations)('a name that a skill declares is its own: %s', (_what, body, before) => {
    expect(faultsOf(body, before)).toEqual([])
  })

  // The check ignores scopes: otherwise a second `Symbol` in one place could make `x[Symbol.iterator]` any key in
  // another.
  test.each(declarations)(
    'a skill cannot declare a name that already has a meaning: %s',
    (_what, body, before) => {
      const global = (source: string) => source.replaceAll('own', 'Symbol')
      expect(faultsOf(global(body), global(before))).toContain(
        'unknown-name: Symbol is the name of a built-in global; choose another name',
      )
    },
  )

  test.each([
    ['Function', 'forbidden-call', 'runs text as code'],
    ['defineProperties', 'forbidden-call', 'changes objects without their users noticing'],
    ['prototype', 'forbidden-attribute', 'changes the prototype that all objects share'],
  ])('a name that a skill declares is not %s', (name, rule, reason) => {
    expect(faultsOf(`const ${name} = 1`)).toEqual([
      `${rule}: a skill may not declare ${name}: the name ${reason}`,
    ])
  })

  test('a declared name does not hide a forbidden one: each use is reported too', () => {
    expect(faultsOf('let process = 1\nvoid process')).toEqual([
      'unknown-name: process is the name of a built-in global; choose another name',
    ])
    expect(rulesOf('void process')).toEqual(['unknown-name'])
  })
})

describe('a name that nobody declares', () => {
  test.each<[string, string]>([
    ['process', 'process does not exist in a skill; use mesh_client for everything outside the skill'],
    ['somewhere', 'somewhere does not exist in a skill; use mesh_client for everything outside the skill'],
    ['arguments', 'arguments is not allowed in a skill; write ...rest in the parameters'],
  ])('is refused with what to write instead: %s', (name, message) => {
    expect(faultsOf(`void function () { return ${name} }`)).toEqual([`unknown-name: ${message}`])
  })

  test('an undeclared name is refused with what it would open, where it is forbidden', () => {
    expect(faultsOf('void eval')).toEqual([
      'forbidden-call: eval is not allowed in a skill: it runs text as code',
    ])
  })

  test.each(
    places([
      ['the value of a key', 'void { key: lost }'],
      ['a key in short', 'void { lost }'],
      ['a computed key', 'void { [-lost]: 1 }'],
      ['the value of a field', 'void class { field = lost }'],
      ['a computed field', 'void class { [-lost] = 1 }'],
      ['a computed method', 'void class { [-lost]() {} }'],
      ['what a member is taken from', 'void lost.length'],
      ['a computed member', 'void text[-lost]'],
      ['a default in what is taken apart', 'const { a = lost } = {}; void a'],
      ['what is thrown', 'throw lost'],
    ]),
  )('an undeclared name is reported once as %s', (_where, body, before) => {
    expect(faultsOf(body, before).filter((fault) => fault.includes('lost does not exist'))).toHaveLength(1)
  })

  test.each(
    places([
      ['a member', 'void text.lost'],
      ['a key', 'void { lost: 1 }'],
      ['a key of what is taken apart', 'const { lost: a } = {}; void a'],
      ['a method', 'void class { lost() {} }'],
      ['a field', 'void class { lost = 1 }'],
      ['a label that is continued', 'lost: for (const a of []) { void a; continue lost }'],
      ['a label that is left', 'lost: for (const a of []) { void a; break lost }'],
      ['how a call was made', 'void function () { return new.target }'],
      ['what a module calls it', 'void a', `import { lost as a } from 'node:path'`],
      ['what it is exported as', '', 'const a = 1; export { a as lost }'],
      ['what another module calls what is passed on', '', `export { lost } from 'node:path'`],
    ]),
  )('an undeclared name is no name of a value as %s', (_where, body, before) => {
    expect(faultsOf(body, before)).toEqual([])
  })
})

test('an undeclared name cannot be exported: no such source is read', () => {
  for (const name of ['lost', 'process', 'eval'])
    expect(faultsOf('', `export { ${name} as found }`)).toEqual([expect.stringMatching(/^syntax/)])
})

describe('a key that is known only when it runs', () => {
  test.each(['+text', '-text', '~text', 'i++', '--i', 'text - 1'])(
    'a key that is known only when it runs gives a number as %s',
    (key) => {
      expect(faultsOf(`let i = 0; void text[${key}]; void i`)).toEqual([])
    },
  )

  test.each([
    // Each of these may have the text `constructor` as its value.
    ['a name', 'text'],
    ['its kind', 'typeof text'],
    ['a choice', 'text || 1'],
    ['the last of several', '(1, text)'],
    ['what was assigned', 'i = text'],
    ['a call', 'text.trim()'],
    ['a template with a value in it', '`${text}`'],
    ['what stands for a text', '/constructor/'],
  ])('a key that is known only when it runs may lead to all code as %s', (_what, key) => {
    expect(rulesOf(`let i = 0; void text[${key}]; void i`)).toEqual(['computed-access'])
  })

  test('a key that is known only when it runs is one of the two symbols that make an object iterable', () => {
    expect(faultsOf('void text[Symbol.iterator]; void text[Symbol.asyncIterator]')).toEqual([])
  })

  test.each([
    ['of another symbol', 'text[Symbol.species]'],
    ['of what only looks like Symbol', 'text[mine.iterator]'],
    ['of a member that only looks like Symbol', 'text[mine.Symbol.iterator]'],
    ['of Symbol by a key that is computed', 'text[Symbol[iterator]]'],
    ['of what is like a symbol but a sum', 'text[mine + Symbol.iterator]'],
  ])('a key that is known only at run time is refused %s, whose value may be any text', (_what, access) => {
    const body = `const mine = { iterator: 'constructor' }; const iterator = 'x'; void ${access}; void [mine, iterator]`
    expect(rulesOf(body)).toContain('computed-access')
  })

  test.each([
    ['in what is taken apart', 'const { [text]: a } = {}; void a'],
    ['in an object', 'void { [text]: 1 }'],
    ['of a method', 'void class { [text]() {} }'],
    ['of a field', 'void class { [text] = 1 }'],
    ['of an accessor', 'void { get [text]() { return 1 } }'],
  ])('a key that is known only when it runs is refused %s too', (_where, body) => {
    expect(rulesOf(body)).toEqual(['computed-access'])
  })
})

describe('a key that is written out', () => {
  test.each([
    ['a number', 'void text[0]'],
    ['a great number', 'void text[1n]'],
    ['a text', "void text['length']"],
    ['a template without values', 'void text[`length`]'],
    ['a method that all objects have', 'void text.toString(); void text.hasOwnProperty'],
    ['a private name that reads as a forbidden one', 'void class { #env = 1; f() { return this.#env } }'],
    ['the constructor of a class', 'void class { constructor() { this.a = 1 } }'],
    ['a key of an object, which it makes and does not read', 'void { constructor: 1, env: 2 }'],
  ])('a key that is written out is free as %s', (_what, body) => {
    expect(faultsOf(body)).toEqual([])
  })

  test.each([
    ['a member', "void text['env']"],
    ['a member in a template', 'void text[`env`]'],
    ['what is taken apart', 'const { env } = text; void env'],
    ['what is taken apart by assignment', 'let a; ({ env: a } = text); void a'],
    ['what is taken apart by a text', "const { 'env': a } = text; void a"],
    ['a computed key of an object', "void { ['env']: 1 }"],
    ['a computed method', "void class { ['env']() {} }"],
    ['a computed field', "void class { ['env'] = 1 }"],
  ])('a key that is written out is refused as %s where it is forbidden', (_what, body) => {
    expect(faultsOf(body)).toContain(
      'forbidden-attribute: env is not allowed in a skill: it holds the environment of the process',
    )
  })

  test.each(['{ __proto__: text }', "{ '__proto__': text }"])(
    'a key that is written out is refused in %s, which sets what the object inherits from',
    (object) => {
      expect(faultsOf(`void ${object}`)).toEqual([
        'forbidden-attribute: __proto__ is not allowed in a skill: it leads to the prototype that all objects share',
      ])
    },
  )
})

describe('what is no name but leads out', () => {
  test.each([
    ["await import('node:path')", 'forbidden-call: import() is not allowed'],
    ['void import.meta', 'forbidden-attribute: import.meta is not allowed'],
  ])('what is no name but leads out is refused: %s', (body, words) => {
    expect(faultsOf(body)).toEqual([expect.stringContaining(words)])
  })
})

test('faults are reported in source order, the outer before the inner', () => {
  const verdict = checkSkill(wrap('void [first, [second], third]\n  void fourth(fifth)'))
  const found = verdict.ok ? [] : verdict.faults
  expect(found.map(({ message }) => message.split(' ')[0])).toEqual([
    'first',
    'second',
    'third',
    'fourth',
    'fifth',
  ])
  expect(found.map(({ line }) => line)).toEqual([4, 4, 4, 5, 5])
})
