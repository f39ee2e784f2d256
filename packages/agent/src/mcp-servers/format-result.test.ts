import { expect, test } from 'vitest'
import { formatResult } from './format-result.ts'

test('a result is read block by block: text as it is, pictures and sounds by what they are', () => {
  const content = [
    { type: 'text', text: 'one' },
    { type: 'image', mimeType: 'image/png', data: 'AAAA' },
    { type: 'audio', mimeType: 'audio/wav', data: 'AAAAAAAA' },
    { type: 'resource_link', uri: 'file:///a', name: 'a' },
    { type: 'resource', resource: { uri: 'file:///b', text: 'two' } },
    { type: 'resource', resource: { uri: 'file:///c', mimeType: 'x/y', blob: 'AAAA' } },
    { type: 'something new' },
    7,
  ]
  expect(formatResult({ content })).toBe(
    'one\n[image image/png, 3 bytes]\n[audio audio/wav, 6 bytes]\n[link file:///a a]\n[resource file:///b]\ntwo\n[resource x/y, 3 bytes]\n[something new]',
  )
})

test('what is structured is JSON where it is not said in words as well', () => {
  expect(formatResult({ content: [], structuredContent: { a: 1 } })).toBe('{\n "a": 1\n}')
  expect(formatResult({ content: [{ type: 'text', text: '{}' }], structuredContent: { a: 1 } })).toBe('{}')
  expect(formatResult({ content: 'nonsense' })).toBe('')
})

test('a result of very many blocks is read in part', () => {
  const content = Array.from({ length: 1000 }, () => ({ type: 'text', text: 'x' }))
  expect(formatResult({ content })).toMatch(/\[800 more blocks left out\]$/)
})
