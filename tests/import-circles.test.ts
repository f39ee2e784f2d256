import { expect, test } from 'vitest'
import { importCircles } from './import-circles.ts'

function circlesOf(...edges: readonly string[]): readonly (readonly string[])[] {
  return importCircles(edges.map((edge) => ({ from: edge.slice(0, 1), to: edge.slice(1) })))
}

test('files that import downwards alone make no circle, by however many ways', () => {
  expect(circlesOf('ab', 'ac', 'bd', 'cd')).toEqual([])
})

test('every circle is reported once, with all its files and no other file', () => {
  expect(circlesOf('xa', 'ab', 'bc', 'ca', 'cd', 'de', 'ed', 'ey')).toEqual([
    ['a', 'b', 'c'],
    ['d', 'e'],
  ])
})

test('circles that share a file are one', () => {
  expect(circlesOf('ab', 'ba', 'bc', 'cb')).toEqual([['a', 'b', 'c']])
})

test('a file that imports itself is a circle', () => {
  expect(circlesOf('aa')).toEqual([['a']])
})
