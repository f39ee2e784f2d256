import { Environment } from '@marcbachmann/cel-js'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { conditionValues, conditionVariables } from './condition-values.ts'
import { compileMayHold } from './may-hold.ts'

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
const mayHold = (text: string, of = values) => compileMayHold(language.parse(text).ast)(of)

describe('what excludes a condition without evaluating it', () => {
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
  ])('%s: %s', (text, expected) => {
    expect(mayHold(text)).toBe(expected)
  })

  test.each([
    'path.size() > 99',
    '!(path.size() > 0)',
    'host == "api.test" && path.size() > 99',
    'host == "x" || path.size() > 99',
    'path.size() > 99 ? host == "api.test" : host == "x"',
    'path.size() > 99 ? host == "x" : host == "api.test"',
    '!(host == "api.test" ? method == "POST" : true)',
    'path.contains(host)',
    'host == method',
    'host in credentials',
    '"a" == "b"',
    '"x".lowerAscii() == host',
    '"x".lowerAscii().contains("y")',
    '"x".contains("y")',
    'method in ["PUT", host]',
    '"x" in [host]',
    'usd in [1.0, 2.0]',
    'usd > 99',
    'credentials == ["x"]',
    'path.lowerAscii().size() == 99',
  ])('%s is left to the library', (text) => {
    expect(mayHold(text)).toBe(true)
  })

  test.each([
    'path.startsWith("/x")',
    'host == "x"',
    'method in ["PUT"]',
    '"x" in credentials',
    'path.lowerAscii().contains("x")',
    '!(host == "api.test")',
    '!(method in ["POST"])',
    '!("github" in credentials)',
    '!(path.contains("V1"))',
  ])('%s is left to the library for a value of another type', (text) => {
    const others = Object.fromEntries(Object.keys(values).map((name) => [name, 7n])) as never
    expect(mayHold(text, others)).toBe(true)
  })

  const leaf = fc.constantFrom(
    'host == "api.test"',
    'host == "x"',
    'path.contains("V1")',
    'path.lowerAscii().startsWith("/v1")',
    'method in ["PUT", "POST"]',
    '"other" in credentials',
    'usd > 5.0',
    'path.size() > 3',
    'true',
    'false',
  )
  const { condition } = fc.letrec<{ condition: string }>((tie) => ({
    condition: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.tuple(tie('condition'), tie('condition')).map(([a, b]) => `(${a} && ${b})`),
      fc.tuple(tie('condition'), tie('condition')).map(([a, b]) => `(${a} || ${b})`),
      tie('condition').map((a) => `!(${a})`),
      fc
        .tuple(tie('condition'), tie('condition'), tie('condition'))
        .map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
    ),
  }))

  test('excludes no condition that the library finds to hold', () => {
    fc.assert(
      fc.property(condition, (text) => {
        const holds = language.parse(text)(values) === true
        expect(mayHold(text) || !holds).toBe(true)
      }),
      { numRuns: 1000 },
    )
  })
})
