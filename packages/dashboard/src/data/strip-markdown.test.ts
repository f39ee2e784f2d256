import { expect, it } from 'vitest'
import { stripMarkdown } from './strip-markdown.ts'

it.each([
  ['## What is **new**?', 'What is new?'],
  ['- one\n- `two`', 'one\ntwo'],
  ['> said *he*, [there](https://example.org/a)', 'said he, there'],
  ['```ts\nconst a = 1\n```', '\nconst a = 1\n'],
  ['1. first, ~~no~~ __yes__', 'first, no yes'],
  ['2 * 3 * 4 and snake_case_name and [x]', '2 * 3 * 4 and snake_case_name and [x]'],
  ['#tag and -1 and a*b*c', '#tag and -1 and a*b*c'],
])('the marks of %j are left out of a title', (text, words) => {
  expect(stripMarkdown(text)).toBe(words)
})
