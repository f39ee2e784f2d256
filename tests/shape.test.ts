import { describe, expect, test } from 'vitest'
import { shapeOf } from './shape.ts'

describe('a shape', () => {
  const text = [
    'export interface Wide { readonly a: string; readonly b: () => void }',
    'export function outer(deps: { readonly clock: number }) {',
    '  const early = () => late()',
    '',
    '  const late = () => {',
    '    return deps.clock',
    '  }',
    '  for (const item of [1]) item.toFixed()',
    '  const item = early',
    '  return { late, item }',
    '}',
  ].join('\n')
  const { records, functions, usedBefore } = shapeOf({ path: 'packages/mesh/src/x.ts', text })

  test('a shape counts members of interfaces and of types that are written in place', () => {
    expect(records).toEqual([
      { name: 'Wide', members: 2 },
      { name: 'outer', members: 1 },
    ])
  })

  test('a shape counts the lines of a function without those of the functions in it, and without blank ones', () => {
    expect(functions.find(({ name }) => name === 'outer')?.ownLines).toBe(6)
    expect(functions.find(({ name }) => name === 'late')?.ownLines).toBe(3)
  })

  test('a shape counts them with those of the functions in it, too', () => {
    expect(functions.find(({ name }) => name === 'outer')?.allLines).toBe(9)
  })

  test('a shape knows what is named above its declaration from what a loop declares for itself', () => {
    expect(usedBefore).toEqual(['late'])
  })
})
