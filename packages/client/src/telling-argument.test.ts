import { expect, test } from 'vitest'
import { tellingArgument } from './telling-argument.ts'

test.each([
  [{ command: 'npm test\n  --silent', timeout_ms: 1000 }, 'npm test --silent'],
  [{ url: 'https://shop.example/a', method: 'GET' }, 'https://shop.example/a'],
  [{ url: 'https://shop.example/a', method: 'POST', body: 'x' }, 'POST https://shop.example/a'],
  [{ content: 'a whole page', path: '/data/out.md' }, '/data/out.md'],
  [{ to: 'writer', title: 'Draft the letter', text: 'long' }, 'writer: Draft the letter'],
  [{ to: 'writer', text: 'Are you done?' }, 'writer: Are you done?'],
  [{ ref: 'e3', text: 'Ada' }, 'e3'],
  [{ text: 'Done.' }, 'Done.'],
  [{ packages: { apt: ['jq'] }, reason: 'to read JSON' }, '{"apt":["jq"]}'],
  [{ repo: 'acme/site', number: 7 }, 'acme/site'],
  [{ deep: null, wide: '' }, ''],
  [{}, ''],
  [null, ''],
  ['plain words', 'plain words'],
])('the telling argument of %j is %j', (input, told) => {
  expect(tellingArgument(input)).toBe(told)
})

test('a long argument is cut to the length of a row', () => {
  expect(tellingArgument({ command: 'x'.repeat(5000) })).toHaveLength(160)
})
