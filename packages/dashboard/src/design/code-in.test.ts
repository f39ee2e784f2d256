import { expect, it } from 'vitest'
import { codeIn } from './code-in.ts'

const pre = (className: unknown, ...texts: readonly string[]) => ({
  type: 'element',
  children: [
    {
      type: 'element',
      properties: { className },
      children: texts.map((value) => ({ type: 'text', value })),
    },
  ],
})

it('code has the language that its fence names, and its whole text', () => {
  expect(codeIn(pre(['x', 'language-TS'], 'const a', ' = 1\n'))).toEqual({
    language: 'ts',
    text: 'const a = 1\n',
  })
})

it('code without a named language has none', () => {
  expect(codeIn(pre(undefined, 'ls'))).toEqual({ language: null, text: 'ls' })
  expect(codeIn(pre(['language-'], 'ls')).language).toBeNull()
  expect(codeIn(undefined)).toEqual({ language: null, text: '' })
})
