import { Environment } from '@marcbachmann/cel-js'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createReadings } from './condition-readings.ts'
import { createConditionCompiler } from './condition-truth.ts'
import { conditionValues, conditionVariables } from './condition-values.ts'

const language = new Environment()
for (const [name, type] of Object.entries(conditionVariables)) language.registerVariable(name, type)

const values = conditionValues({
  agent: 'scout',
  tool: 'http_request',
  host: 'api.test',
  path: '/V1/items',
  method: 'POST',
  credentials: ['github'],
  usd: 7,
})
const one = createReadings(values, ['/V1/items'], 1)
const astOf = (text: string) => language.parse(text).ast
const holds = (text: string) => createConditionCompiler()(astOf(text)).truth(one) === 1
/** By the library, for each reading. */
const byLibrary = (text: string, paths: readonly string[]) =>
  paths.map((path) => language.parse(text)({ ...values, path }) === true)
const bits = (truths: readonly boolean[]) => truths.reduce((all, is, at) => (is ? all | (1 << at) : all), 0)

describe('the truth of a condition', () => {
  test.each<[string, boolean]>([
    ['path.startsWith("/V1")', true],
    ['path.startsWith("/v1")', false],
    ['path.endsWith("items")', true],
    ['path.endsWith("/V1")', false],
    ['path.contains("1/i")', true],
    ['path.contains("x")', false],
    ['path.lowerAscii().contains("v1")', true],
    ['path.lowerAscii().contains("V1")', false],
    ['host == "api.test"', true],
    ['host == "x"', false],
    ['"api.test" == host', true],
    ['"x" == host', false],
    ['host != "x"', true],
    ['host != "api.test"', false],
    ['"api.test" != host', false],
    ['usd > 6.0', true],
    ['usd > 7.0', false],
    ['usd >= 7.0', true],
    ['usd >= 7.5', false],
    ['usd < 8.0', true],
    ['usd < 7.0', false],
    ['usd <= 7.0', true],
    ['usd <= 6.0', false],
    ['8.0 > usd', true],
    ['7.0 > usd', false],
    ['7.0 >= usd', true],
    ['6.0 >= usd', false],
    ['6.0 < usd', true],
    ['7.0 < usd', false],
    ['7.0 <= usd', true],
    ['8.0 <= usd', false],
    ['method in ["PUT", "POST"]', true],
    ['method in ["PUT"]', false],
    ['"github" in credentials', true],
    ['"other" in credentials', false],
    ['host == "api.test" && method == "POST"', true],
    ['host == "api.test" && method == "PUT"', false],
    ['host == "x" && method == "POST"', false],
    ['host == "x" || method == "POST"', true],
    ['host == "api.test" || method == "PUT"', true],
    ['host == "x" || method == "PUT"', false],
    ['!(host == "x")', true],
    ['!(host == "api.test")', false],
    ['!(host == "api.test" && method == "POST")', false],
    ['!(host == "api.test" && method == "PUT")', true],
    ['!(host == "x" || method == "PUT")', true],
    ['!(host == "x" || method == "POST")', false],
    ['!!(host == "x")', false],
    ['true', true],
    ['false', false],
    ['!true', false],
    ['!false', true],
    ['host == "api.test" ? method == "POST" : false', true],
    ['host == "api.test" ? method == "PUT" : true', false],
    ['host == "x" ? true : method == "PUT"', false],
    ['host == "x" ? false : method == "POST"', true],
    ['path.size() > 99', false],
    ['path.size() == 9', true],
    ['"aé😀".size() == 3', true],
    ['credentials.size() == 1', true],
    ['credentials.size() < 1', false],
    ['path.contains(host)', false],
    ['host.contains(method.lowerAscii()) || "a/V1/items".endsWith(path)', true],
    ['host == method', false],
    ['host in credentials', false],
    ['host in ["x", host]', true],
    ['"x" in [host]', false],
    ['usd in [1.0, 7.0]', true],
    ['usd > 5', true],
    ['credentials == ["github"]', true],
    ['credentials == ["github", "x"]', false],
    ['credentials == []', false],
    ['credentials == [host]', false],
    ['credentials in [["x"], ["github"]]', true],
    ['"a" < "b"', true],
    ['host < "b" && host >= "api"', true],
    ['(host == "x") == (path == "y")', true],
    ['(path == "/V1/items") != (host == "x")', true],
    ['(path.contains("V1")) in [false]', false],
    ['(path == "y" ? host : method) == "POST"', true],
    ['(path == "y" ? host : method).lowerAscii() in ["post"]', true],
    ['(!(path == "y")) == true', true],
    ['path.contains("") && path.startsWith("") && path != ""', true],
    ['path == ""', false],
    ['path.contains("/V1/items/V1/items/V1/items/V1/items")', false],
  ])('%s: %s', (text, expected) => {
    expect(holds(text)).toBe(expected)
    expect(byLibrary(text, ['/V1/items'])).toEqual([expected])
  })

  test('holds for each reading of the path by itself', () => {
    const paths = ['/a', '/b/a', '/b']
    const of = createReadings(values, paths, 2)
    expect([of.all, of.allowing]).toEqual([0b111, 0b011])
    const truth = (text: string) => createConditionCompiler()(astOf(text)).truth(of)
    expect(truth('path.endsWith("/a")')).toBe(0b011)
    expect(truth('path.startsWith("/b")')).toBe(0b110)
    expect(truth('!(path == "/a")')).toBe(0b110)
    expect(truth('host == "api.test"')).toBe(0b111)
    expect(truth('host.contains("api")')).toBe(0b111)
    expect(truth('!(host == "api.test")')).toBe(0)
    expect(truth('path == "/a" ? true : path.size() == 2')).toBe(0b101)
    expect(truth('[path, host] == ["/b", "api.test"]')).toBe(0b100)
    expect(truth('path in ["/a", "/b"]')).toBe(0b101)
    expect(truth('host.contains(path.lowerAscii())')).toBe(0)
    expect(truth('"x/a".contains(path)')).toBe(0b001)
  })

  test('has as many as 32 readings', () => {
    const paths = Array.from({ length: 32 }, (_none, at) => `/p${at}`)
    const of = createReadings(values, paths, 32)
    const truth = (text: string) => createConditionCompiler()(astOf(text)).truth(of)
    expect(truth('path == "/p31"')).toBe(1 << 31)
    expect(truth('path != "/p31"')).toBe(of.all & ~(1 << 31))
    expect(truth('path.startsWith("/p")')).toBe(of.all)
    expect(of.allowing).toBe(of.all)
  })

  test('of conditions of one policy is right for each effect, in whatever order they are compiled', () => {
    const compile = createConditionCompiler()
    const first = compile(astOf('path.contains("V1") || host == "x"'))
    expect(first.truth(one)).toBe(1)
    const second = compile(astOf('path.contains("items")'))
    const other = createReadings(values, ['/other'], 1)
    for (const [of, expected] of [
      [one, 1],
      [other, 0],
      [one, 1],
    ] as const) {
      expect([first.truth(of), second.truth(of)]).toEqual([expected, expected])
    }
  })

  test('evaluates an equal part of several conditions once for an effect', () => {
    let reads = 0
    const counted = {
      ...values,
      get host() {
        reads += 1
        return 'api.test'
      },
    }
    const compile = createConditionCompiler()
    const truths = Array.from({ length: 9 }, (_none, at) =>
      compile(astOf(`!(host.contains("a${at}") || host == "api.test")`)),
    )
    const of = createReadings(counted, [], 0)
    const before = reads
    for (const { truth } of truths) expect(truth(of)).toBe(0)
    expect(reads - before).toBe(1)
  })

  test.each([
    'path.startsWith("/x")',
    'host.contains("x")',
    'method.lowerAscii().contains("x")',
    '"x" in credentials',
    'host.size() > 1',
  ])('%s fails for a value of another type, and its needs exclude nothing', (text) => {
    const others = Object.fromEntries(Object.keys(values).map((name) => [name, 7n])) as never
    const of = createReadings(others, [7 as never], 1)
    const { truth, needs } = createConditionCompiler()(astOf(text))
    expect(() => truth(of)).toThrow(TypeError)
    expect(needs.map((need) => need(of))).toEqual([1])
  })

  test.each<[string, number]>([
    ['host == "x"', 1],
    ['host == "x" && path == "y" && method == "z"', 3],
    ['!(host == "x" || path == "y")', 2],
    ['!(host == "x" && path == "y")', 1],
    ['host == "x" || path == "y"', 1],
    ['!!(host == "x" && !(path == "y" || method == "z"))', 3],
  ])('%s needs %i parts', (text, count) => {
    expect(createConditionCompiler()(astOf(text)).needs).toHaveLength(count)
  })

  test('equal needs of several conditions are one function', () => {
    const compile = createConditionCompiler()
    const [first] = compile(astOf('!(path == "a" || host == "x")')).needs
    const needs = compile(astOf('method == "z" && path != "b" && !(path == "a")')).needs
    expect(needs).toContain(first)
    expect(needs.filter((need) => need !== first)).toHaveLength(2)
    expect(compile(astOf('path == "a"')).needs).not.toContain(first)
  })

  const text = fc.constantFrom(
    'host',
    'path',
    'method',
    'path.lowerAscii()',
    '"api.test"',
    '"/v1/items"',
    '"V1"',
    '""',
    '(path.contains("V1") ? host : method)',
  )
  const list = fc.constantFrom('credentials', '["github"]', '[host, path]', '[]', '["PUT", "POST"]')
  const number = fc.constantFrom('usd', '7.0', '5.0', '9')
  const operator = fc.constantFrom('==', '!=', '<', '<=', '>', '>=')
  const leaf = fc.oneof(
    fc.tuple(text, operator, text).map((all) => all.join(' ')),
    fc
      .tuple(text, fc.constantFrom('contains', 'startsWith', 'endsWith'), text)
      .map(([a, of, b]) => `${a}.${of}(${b})`),
    fc.tuple(text, list).map(([a, b]) => `${a} in ${b}`),
    fc.tuple(list, fc.constantFrom('==', '!='), list).map((all) => all.join(' ')),
    fc
      .tuple(fc.constantFrom('usd', '7.0'), fc.constantFrom('<', '<=', '>', '>='), number)
      .map((all) => all.join(' ')),
    fc
      .tuple(fc.oneof(text, list), operator, fc.constantFrom('0', '1', '9'))
      .map(([a, of, b]) => `${a}.size() ${of} ${b}`),
    fc.constantFrom('true', 'false'),
  )
  const { condition } = fc.letrec<{ condition: string }>((tie) => ({
    condition: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.tuple(tie('condition'), tie('condition')).map(([a, b]) => `(${a} && ${b})`),
      fc.tuple(tie('condition'), tie('condition')).map(([a, b]) => `(${a} || ${b})`),
      fc.tuple(tie('condition'), tie('condition')).map(([a, b]) => `(${a} == ${b})`),
      tie('condition').map((a) => `!(${a})`),
      fc
        .tuple(tie('condition'), tie('condition'), tie('condition'))
        .map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
    ),
  }))

  test('is that of the library, for many conditions of one policy', () => {
    const paths = ['/V1/items', '/v1/items', '', 'V1']
    const of = createReadings(values, paths, 2)
    fc.assert(
      fc.property(fc.array(condition, { minLength: 1, maxLength: 5 }), (given) => {
        const compile = createConditionCompiler()
        for (const one of given) {
          if (!language.check(one).valid) continue
          const { truth, needs } = compile(astOf(one))
          expect([one, truth(of)]).toEqual([one, bits(byLibrary(one, paths))])
          for (const need of needs) expect(truth(of) & ~need(of)).toBe(0)
        }
      }),
      { numRuns: 1000 },
    )
  })
})

test.each<[string, string, number]>([
  ['(usd < 1.0) <= ((usd < 2.0) <= (usd < 3.0))', '((usd < 1.0) <= (usd < 2.0)) <= (usd < 3.0)', 7],
  ['usd > 1.00000000012', 'usd > 1.00000000034', 1.0000000002],
])('conditions that are printed alike are not taken for one another: %s and %s', (first, second, usd) => {
  const of = createReadings({ ...values, usd }, ['/V1/items'], 1)
  const alone = [first, second].map((text) => createConditionCompiler()(astOf(text)).truth(of))
  const compile = createConditionCompiler()
  const together = [first, second].map((text) => compile(astOf(text)).truth(of))
  expect(together).toEqual(alone)
  expect(alone.map((truth) => truth === 1)).toEqual(
    [first, second].map((text) => language.parse(text)({ ...values, usd })),
  )
})
