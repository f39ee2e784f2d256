import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileCondition, conditionMaxChars } from './condition.ts'
import { createReadings } from './condition-readings.ts'
import { conditionValues, conditionVariables } from './condition-values.ts'

const values = conditionValues({
  agent: 'scout',
  tool: 'http_request',
  host: 'api.example.org',
  path: '/v1/Items',
  method: 'POST',
  credentials: ['STRIPE'],
  usd: 7,
  project: 'site',
  mcpServer: 'crm',
  mcpTool: 'list',
  chain: 'base',
  contract: 'coin',
  payees: ['0xab'],
  call: 'c0ffee',
  origins: ['human', 'cron'],
  channels: ['cli', 'mesh'],
})

const readings = createReadings(values, ['/v1/Items'], 1)
const holds = (text: string) => {
  const condition = compileCondition(text)
  return 'fault' in condition ? condition.fault : condition.truth(readings) === readings.all
}

describe('a condition', () => {
  test.each([
    ['usd > 5.0', true],
    ['usd >= 7 && usd <= 7.0 && !(usd < 7)', true],
    ['host == "api.example.org" && host != "x"', true],
    ['host.startsWith("api.") || false', true],
    ['host.endsWith(".org") && path.contains("Item")', true],
    ['path.lowerAscii() == "/v1/items"', true],
    ['size("abc") == 3', 'the function size cannot be used in a condition; see the guide page on policy'],
    ['host.size() > 100', false],
    ['"STRIPE" in credentials', true],
    ['credentials.size() == 1', true],
    ['method in ["PUT", "DELETE"]', false],
    ['usd > 5.0 ? chain == "base" : false', true],
    ['"cron" in origins', true],
    ['agent == "scout" && project == "site" && tool == "http_request"', true],
    ['mcp_server == "crm" && mcp_tool == "list"', true],
    ['contract == "coin" && payees == ["0xab"] && call == "c0ffee"', true],
    ['payees == ["0xab", "0xcd"]', false],
    ['!(usd > 5.0)', false],
    ['!("cron" in origins) || !(host == "x")', true],
    ['!(method in ["PUT"]) && !path.contains("x")', true],
    ['usd > 5.0 ? method == "GET" : true', false],
    ['usd < 5.0 ? true : path.lowerAscii().contains("item")', true],
    ['!(usd < 5.0 ? true : false)', true],
    ['!(host.size() > 100)', true],
    ['"x" in ["a", "x"]', true],
    ['7.0 > usd || 7.0 <= usd', true],
  ])('%s gives %s', (text, expected) => {
    expect(holds(text)).toBe(expected)
  })

  test.each([
    ['host.matches("(a+)+$")', 'the function matches'],
    ['!host.matches("(a+)+$")', 'the function matches'],
    ['[1, 2].all(x, x > 0)', 'the function all'],
    ['host + "a" == "b"', '"+"'],
    ['usd * 2.0 > 5.0', '"*"'],
    ['-usd < 0.0', '"-_"'],
    ['credentials[0] == "A"', '"[]"'],
    ['{"a": 1} == {"a": 1}', '"map"'],
    ['has(host.x)', 'the function has'],
    ['cel.bind(a, host, a == "b")', 'the function bind'],
    ['host.x == "a"', '"."'],
    ['string(usd) == "7"', 'the function string'],
    ['credentials.map(x, x) == ["A"]', 'the function map'],
  ])('%s is refused', (text, part) => {
    expect(holds(text)).toBe(`${part} cannot be used in a condition; see the guide page on policy`)
  })

  test.each([
    ['host', 'the condition must be true or false, and is string'],
    ['nothing == 1', 'Unknown variable: nothing'],
    ['host == 1', 'no such overload: string == int'],
    ['host ==', 'Unexpected token: EOF'],
    ['true'.padEnd(conditionMaxChars + 1), `the condition is longer than ${conditionMaxChars} characters`],
  ])('%s says why it is refused', (text, fault) => {
    expect(holds(text)).toBe(fault)
  })

  test.each([
    ['contract == "0xAb"', 'write hexadecimal addresses in lower case, as they are compared'],
    ['"0xaB" in payees', 'write hexadecimal addresses in lower case, as they are compared'],
    ['"0xab" in payees', true],
    ['contract == "So11"', false],
    ['host == "0xAb"', false],
  ])('%s compares an address as it is written: %s', (text, expected) => {
    expect(holds(text)).toBe(expected)
  })

  test('a condition of the maximum length is accepted', () => {
    expect(holds('true'.padEnd(conditionMaxChars))).toBe(true)
  })

  test.each([
    ['more nodes', Array.from({ length: 60 }, () => 'true').join(' && ')],
    ['more depth', `${'!('.repeat(30)}true${')'.repeat(30)}`],
    ['a longer list', `usd in [${Array.from({ length: 60 }, () => '1.0').join(',')}]`],
  ])('%s than the limits is refused', (_what, text) => {
    expect(holds(text)).toMatch(/^Exceeded max/)
  })

  test.each([
    Array.from({ length: 9 }, (_none, at) => `path.contains("a${at}")`).join(' && '),
    '(host == "a" && path == "b" && tool == "c") || (host == "d" && path == "e" && tool == "f")',
    '(host == "a" && path == "b" && tool == "c") ? (path == "d" && host == "e") : (host == "f" && path == "g")',
  ])('%s is found by at most six lists', (text) => {
    const compiled = compileCondition(text)
    expect('keys' in compiled && compiled.keys).toHaveLength(6)
  })

  test('names the variables that it uses', () => {
    const condition = compileCondition('host == "a" || (usd > 1.0 && "b" in credentials)')
    expect('variables' in condition && condition.variables).toEqual(['host', 'usd', 'credentials'])
  })

  test('a value of another type makes the evaluation fail and throws nothing', () => {
    const condition = compileCondition('host.startsWith("a")')
    const others = createReadings({ ...values, host: 7 }, [], 0)
    expect('truth' in condition && condition.truth(others)).toBe(null)
  })

  test('every variable has a value for an effect', () => {
    for (const name of Object.keys(conditionVariables)) expect(values).toHaveProperty(name)
    expect(Object.values(values)).not.toContain(undefined)
  })

  test('no text throws or runs code', () => {
    const piece = fc.constantFrom(
      'host',
      'usd',
      '==',
      '&&',
      '(',
      ')',
      '"a"',
      '.',
      'size()',
      '[',
      ']',
      'constructor',
      '__proto__',
      '1',
      '!',
      ',',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const condition = compileCondition(pieces.join(' '))
        if ('truth' in condition) expect([0, 1]).toContain(condition.truth(readings))
        else expect(condition.fault).not.toBe('')
      }),
      { numRuns: 1000 },
    )
  })
})
