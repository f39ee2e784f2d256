import { expect, test } from 'vitest'
import { formatResult } from './format-result.ts'

test('a result is read block by block: text as it is, pictures and sounds by what they are', () => {
  const content = [
    { type: 'text', text: 'one' },
    { type: 'image', mimeType: 'image/png', data: 'AAAA' },
    { type: 'audio', mimeType: 'audio/wav', data: 'AAAAAAAA' },
    { type: 'resource_link', uri: 'file:///a', name: 'a', description: 'the plan' },
    { type: 'resource', resource: { uri: 'file:///b', text: 'two' } },
    { type: 'resource', resource: { uri: 'file:///c', mimeType: 'x/y', blob: 'AAAA' } },
    { type: 'something new' },
    7,
  ]
  expect(formatResult({ content })).toBe(
    'one\n[image image/png, 3 bytes]\n[audio audio/wav, 6 bytes]\n[link file:///a a  the plan]\n[resource file:///b]\ntwo\n[resource x/y, 3 bytes]\n[something new]',
  )
})

test('what is structured is JSON where no text repeats it', () => {
  const structuredContent = { a: 1, b: [2] }
  const json = '{\n "a": 1,\n "b": [\n  2\n ]\n}'
  expect(formatResult({ content: [], structuredContent })).toBe(json)
  const text = '{"b": [2], "a": 1.0}'
  expect(formatResult({ content: [{ type: 'text', text }], structuredContent })).toBe(text)
  // Sources: https://github.com/openclaw/openclaw/pull/115521, https://github.com/dapr/dapr-agents/issues/287.
  expect(formatResult({ content: [{ type: 'text', text: 'Found 1' }], structuredContent })).toBe(
    `Found 1\n${json}`,
  )
  const picture = { type: 'image', mimeType: 'image/png', data: 'AAAA' }
  expect(formatResult({ content: [picture], structuredContent })).toBe(`[image image/png, 3 bytes]\n${json}`)
  expect(formatResult({ content: [], structuredContent: null })).toBe('')
})

test('a result whose content is one text or one block is read', () => {
  expect(formatResult({ content: 'found' })).toBe('found')
  expect(formatResult({ content: { type: 'text', text: 'found' } })).toBe('found')
  expect(formatResult({ content: 7 })).toBe('')
})

test('a result of very many blocks is read in part', () => {
  const content = Array.from({ length: 1000 }, () => ({ type: 'text', text: 'x' }))
  expect(formatResult({ content })).toMatch(/\[800 more blocks left out\]$/)
})

test('a text that repeats a structured value with other numbers does not replace it', () => {
  const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }
  const structuredContent = { id: rawJSON('9007199254740993') }
  const rounded = { type: 'text', text: '{"id":9007199254740992}' }
  expect(formatResult({ content: [rounded], structuredContent })).toContain('"id": 9007199254740993')
  const repeated = { type: 'text', text: '{"id": 9007199254740993}' }
  expect(formatResult({ content: [repeated], structuredContent })).toBe(repeated.text)
})
